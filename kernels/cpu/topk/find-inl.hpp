// Finds the values that pass a test, at memory speed. Compiled for each target of the file that includes it.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/cache_control.h>

#if defined(SKYRANK_KERNELS_CPU_TOPK_FIND_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKYRANK_KERNELS_CPU_TOPK_FIND_INL_HPP_
#undef SKYRANK_KERNELS_CPU_TOPK_FIND_INL_HPP_
#else
#define SKYRANK_KERNELS_CPU_TOPK_FIND_INL_HPP_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::topk {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kGroup = 64;      ///< keys that are tested together, and bits of a word
constexpr std::size_t kAhead = 2048;    ///< keys that are asked for ahead of their use
constexpr std::size_t kStretch = 8192;  ///< keys whose groups are listed before they are looked into

/// Bit i: whether values[i] passes.
template <class Test>
std::uint64_t hits_of_group(const Test& test, const typename Test::Value* values) {
  const typename Test::Tag tag;
  const std::size_t lanes = hn::Lanes(tag);
  std::uint64_t hits = 0;
  for (std::size_t i = 0; i < kGroup; i += lanes) {
    std::array<std::uint8_t, 8> bytes{};
    hn::StoreMaskBits(tag, test.each(values + i), bytes.data());
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data(), bytes.size());
    if (lanes < 64) bits &= (std::uint64_t{1} << lanes) - 1;
    hits |= bits << i;
  }
  return hits;
}

template <class Value>
HWY_INLINE void prefetch_group(const Value* values) {
  constexpr std::size_t kLine = 64 / sizeof(Value);
  for (std::size_t i = 0; i < kGroup; i += kLine) hwy::Prefetch(values + i);
}

/// Writes the offsets of hits in the group from `first` on; returns how many.
HWY_INLINE std::size_t write_hits(std::uint64_t hits, std::size_t first, std::uint32_t* offsets) {
  std::size_t found = 0;
  for (; hits != 0; hits &= hits - 1) {
    offsets[found++] = static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(std::countr_zero(hits));
  }
  return found;
}

/// Offsets of the values that pass. Groups with hits are listed first, without branches: a branch that is rarely taken,
/// and never foreseen, would each time throw away the loads from memory that are under way.
template <class Test>
std::size_t find(const Test& test, const typename Test::Value* values, std::size_t count, std::uint32_t* offsets) {
  std::array<std::uint32_t, kStretch / kGroup> groups;
  const std::size_t whole = count / kGroup * kGroup;
  std::size_t found = 0;
  for (std::size_t first = 0; first < whole; first += kStretch) {
    const std::size_t last = std::min(whole, first + kStretch);
    std::size_t listed = 0;
    for (std::size_t i = first; i < last; i += kGroup) {
      prefetch_group(values + i + kAhead);
      groups[listed] = static_cast<std::uint32_t>(i);
      listed += test.any_of_group(values + i) ? 1 : 0;
    }
    for (std::size_t g = 0; g < listed; ++g) {
      found += write_hits(hits_of_group(test, values + groups[g]), groups[g], offsets + found);
    }
  }
  if (whole < count && whole > 0) {  // the last group again, with the values behind it
    const std::size_t last = count - kGroup;
    const std::uint64_t hits = hits_of_group(test, values + last) >> (whole - last) << (whole - last);
    return found + write_hits(hits, last, offsets + found);
  }
  for (std::size_t i = whole; i < count; ++i) {
    offsets[found] = static_cast<std::uint32_t>(i);
    found += test(values[i]) ? 1 : 0;
  }
  return found;
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::topk
HWY_AFTER_NAMESPACE();

#endif  // per target
