#include "tools/bench/floor.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <algorithm>

#include "kernels/cpu/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/bench/floor.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Key>
std::uint64_t maximum_of(const Key* keys, std::size_t n) {
  constexpr hn::ScalableTag<Key> kTag;
  const std::size_t lanes = hn::Lanes(kTag);
  // Four chains, so that loads and not the latency of the maximum bound the time.
  auto a = hn::Zero(kTag);
  auto b = a;
  auto c = a;
  auto d = a;
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Max(a, hn::LoadU(kTag, keys + i));
    b = hn::Max(b, hn::LoadU(kTag, keys + i + lanes));
    c = hn::Max(c, hn::LoadU(kTag, keys + i + 2 * lanes));
    d = hn::Max(d, hn::LoadU(kTag, keys + i + 3 * lanes));
  }
  HWY_ALIGN Key parts[HWY_MAX_BYTES / sizeof(Key)];
  hn::Store(hn::Max(hn::Max(a, b), hn::Max(c, d)), kTag, parts);
  Key greatest = *std::max_element(parts, parts + lanes);
  for (; i < n; ++i) greatest = std::max(greatest, keys[i]);
  return greatest;
}

std::uint64_t maximum(const kernels::KeyColumn& column, std::size_t begin, std::size_t end) {
  switch (column.width) {
    case kernels::KeyWidth::bytes1: return maximum_of(column.as<std::uint8_t>() + begin, end - begin);
    case kernels::KeyWidth::bytes2: return maximum_of(column.as<std::uint16_t>() + begin, end - begin);
    case kernels::KeyWidth::bytes4: return maximum_of(column.as<std::uint32_t>() + begin, end - begin);
    case kernels::KeyWidth::bytes8: break;
  }
  return maximum_of(column.as<std::uint64_t>() + begin, end - begin);
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::bench {

HWY_EXPORT(maximum);

std::uint64_t parallel_maximum(std::span<const kernels::KeyColumn> columns, std::size_t n) {
  constexpr std::size_t kTaskBytes = 1 << 18;
  std::uint64_t greatest = 0;
  for (const kernels::KeyColumn& column : columns) {
    const std::size_t grain = kTaskBytes / static_cast<std::size_t>(column.width);
    greatest = tbb::parallel_reduce(
        tbb::blocked_range<std::size_t>(0, n, grain), greatest,
        [&](const auto& range, std::uint64_t so_far) {
          return std::max(so_far, HWY_DYNAMIC_DISPATCH(maximum)(column, range.begin(), range.end()));
        },
        [](std::uint64_t x, std::uint64_t y) { return std::max(x, y); });
  }
  return greatest;
}

}  // namespace skyrank::bench
#endif
