#include "planner/pairwise_dominance.hpp"

#include <algorithm>

#include "kernels/cpu/vector_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "planner/pairwise_dominance.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::planner {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Key>
void count_lesser_of(const Key* keys, std::size_t rows, std::uint8_t* places) {
  const hn::CappedTag<Key, kMaxPaired> tag;
  Key counts[kMaxPaired];
  for (std::size_t first = 0; first < rows; first += hn::Lanes(tag)) {
    const auto own = hn::LoadU(tag, keys + first);
    auto count = hn::Zero(tag);
    for (std::size_t other = 0; other < rows; ++other) {
      count = hn::Sub(count, hn::VecFromMask(tag, hn::Lt(hn::Set(tag, keys[other]), own)));
    }
    hn::StoreU(count, tag, counts + first);
  }
  for (std::size_t row = 0; row < rows; ++row) places[row] = static_cast<std::uint8_t>(counts[row]);
}

/// Returns which of the rows from `first` on, one in each lane, `other` dominates.
template <class Tag>
auto dominated(Tag tag, const PairedRows& paired, std::size_t first, std::size_t other) {
  auto worse = hn::FirstN(tag, 0);
  auto better = worse;
  for (std::size_t j = 0; j < paired.d; ++j) {
    const auto* column = reinterpret_cast<const std::int8_t*>(paired.places + j * kMaxPaired);
    const auto own = hn::LoadU(tag, column + first);
    const auto theirs = hn::Set(tag, column[other]);
    worse = hn::Or(worse, hn::Gt(theirs, own));
    better = hn::Or(better, hn::Lt(theirs, own));
  }
  return hn::AndNot(worse, better);
}

void count_all(const PairedRows& paired, std::uint8_t* counts) {
  const hn::CappedTag<std::int8_t, kMaxPaired> tag;
  for (std::size_t first = 0; first < paired.rows; first += hn::Lanes(tag)) {
    auto count = hn::Zero(tag);
    for (std::size_t other = 0; other < paired.rows; ++other) {
      count = hn::Sub(count, hn::VecFromMask(tag, dominated(tag, paired, first, other)));
    }
    hn::StoreU(count, tag, reinterpret_cast<std::int8_t*>(counts) + first);
  }
}

std::size_t count_spared_rows(const PairedRows& paired, std::span<const std::uint32_t> strong) {
  const hn::CappedTag<std::int8_t, kMaxPaired> tag;
  std::size_t spared = 0;
  for (std::size_t first = 0; first < paired.rows; first += hn::Lanes(tag)) {
    auto here = hn::FirstN(tag, std::min(hn::Lanes(tag), paired.rows - first));
    for (const std::uint32_t other : strong) here = hn::AndNot(dominated(tag, paired, first, other), here);
    spared += hn::CountTrue(tag, here);
  }
  return spared;
}

void count_lesser32(const std::uint32_t* keys, std::size_t rows, std::uint8_t* places) {
  count_lesser_of(keys, rows, places);
}
void count_lesser64(const std::uint64_t* keys, std::size_t rows, std::uint8_t* places) {
  count_lesser_of(keys, rows, places);
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::planner
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::planner {

HWY_EXPORT(count_lesser32);
HWY_EXPORT(count_lesser64);
HWY_EXPORT(count_all);
HWY_EXPORT(count_spared_rows);

void count_lesser(const std::uint32_t* keys, std::size_t rows, std::uint8_t* places) {
  HWY_DYNAMIC_DISPATCH(count_lesser32)(keys, rows, places);
}
void count_lesser(const std::uint64_t* keys, std::size_t rows, std::uint8_t* places) {
  HWY_DYNAMIC_DISPATCH(count_lesser64)(keys, rows, places);
}
void count_pairwise_dominance(const PairedRows& paired, std::uint8_t* counts) {
  HWY_DYNAMIC_DISPATCH(count_all)(paired, counts);
}
std::size_t count_spared(const PairedRows& paired, std::span<const std::uint32_t> strong) {
  return HWY_DYNAMIC_DISPATCH(count_spared_rows)(paired, strong);
}

}  // namespace skyrank::planner
#endif
