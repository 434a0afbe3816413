#include "kernels/cpu/topk/zones.hpp"

#include "kernels/cpu/vector_targets.hpp"

#include <hwy/cache_control.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/topk/zones.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::topk {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Key>
Key least_of(const Key* keys, std::size_t count) {
  constexpr std::size_t kAhead = 2048;  ///< keys that are asked for ahead of their use
  const hn::ScalableTag<Key> tag;
  auto least = hn::Set(tag, static_cast<Key>(~Key{0}));
  std::size_t i = 0;
  for (; i + hn::Lanes(tag) <= count; i += hn::Lanes(tag)) {
    hwy::Prefetch(keys + i + kAhead);
    least = hn::Min(least, hn::LoadU(tag, keys + i));
  }
  Key least_of_all = hn::GetLane(hn::MinOfLanes(tag, least));
  for (; i < count; ++i) least_of_all = std::min(least_of_all, keys[i]);
  return least_of_all;
}

template <class Key>
void fill_zone_map(const Key* keys, std::size_t count, Key* out) {
  for (std::size_t i = 0; i < count; i += kZoneRows) *out++ = least_of(keys + i, std::min(kZoneRows, count - i));
}

void fill_zone_map32(const std::uint32_t* keys, std::size_t count, std::uint32_t* out) {
  fill_zone_map(keys, count, out);
}
void fill_zone_map64(const std::uint64_t* keys, std::size_t count, std::uint64_t* out) {
  fill_zone_map(keys, count, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::topk
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::topk {

HWY_EXPORT(fill_zone_map32);
HWY_EXPORT(fill_zone_map64);

void fill_zone_map(const std::uint32_t* keys, std::size_t count, std::uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(fill_zone_map32)(keys, count, out);
}
void fill_zone_map(const std::uint64_t* keys, std::size_t count, std::uint64_t* out) {
  HWY_DYNAMIC_DISPATCH(fill_zone_map64)(keys, count, out);
}

}  // namespace skyrank::kernels::topk
#endif
