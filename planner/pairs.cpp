#include "planner/pairs.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "planner/pairs.cpp"
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skyrank::planner {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class Key>
void count_all_pairs(const KeyMatrix<Key>& matrix, std::uint32_t* counts, std::uint32_t* places) {
  const hn::ScalableTag<Key> tag;
  std::fill_n(places, matrix.d * matrix.rows, 0);
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    std::size_t dominators = 0;
    for (std::size_t first = 0; first < matrix.room; first += hn::Lanes(tag)) {
      auto no_worse = hn::FirstN(tag, hn::Lanes(tag));
      auto better = hn::FirstN(tag, 0);
      for (std::size_t j = 0; j < matrix.d; ++j) {
        const auto keys = hn::LoadU(tag, matrix.keys + j * matrix.room + first);
        const auto own = hn::Set(tag, matrix.keys[j * matrix.room + row]);
        const auto lesser = hn::Lt(keys, own);
        places[j * matrix.rows + row] += static_cast<std::uint32_t>(hn::CountTrue(tag, lesser));
        better = hn::Or(better, lesser);
        no_worse = hn::AndNot(hn::Gt(keys, own), no_worse);
      }
      dominators += hn::CountTrue(tag, hn::And(no_worse, better));
    }
    counts[row] = static_cast<std::uint32_t>(dominators);
  }
}

template <class Key>
std::size_t count_all_spared(const KeyMatrix<Key>& matrix, std::span<const std::uint32_t> strong) {
  const hn::ScalableTag<Key> tag;
  std::size_t spared = 0;
  for (std::size_t first = 0; first < matrix.rows; first += hn::Lanes(tag)) {
    auto here = hn::FirstN(tag, std::min(hn::Lanes(tag), matrix.rows - first));
    for (const std::uint32_t row : strong) {
      auto no_better = here;
      auto worse = hn::FirstN(tag, 0);
      for (std::size_t j = 0; j < matrix.d; ++j) {
        const Key* column = matrix.keys + j * matrix.room;
        const auto keys = hn::LoadU(tag, column + first);
        const auto theirs = hn::Set(tag, column[row]);
        no_better = hn::AndNot(hn::Lt(keys, theirs), no_better);
        worse = hn::Or(worse, hn::Gt(keys, theirs));
      }
      here = hn::AndNot(hn::And(no_better, worse), here);
    }
    spared += hn::CountTrue(tag, here);
  }
  return spared;
}

void count_pairs32(const KeyMatrix<std::uint32_t>& matrix, std::uint32_t* counts, std::uint32_t* places) {
  count_all_pairs(matrix, counts, places);
}
void count_pairs64(const KeyMatrix<std::uint64_t>& matrix, std::uint32_t* counts, std::uint32_t* places) {
  count_all_pairs(matrix, counts, places);
}
std::size_t count_spared32(const KeyMatrix<std::uint32_t>& matrix, std::span<const std::uint32_t> strong) {
  return count_all_spared(matrix, strong);
}
std::size_t count_spared64(const KeyMatrix<std::uint64_t>& matrix, std::span<const std::uint32_t> strong) {
  return count_all_spared(matrix, strong);
}

}  // namespace HWY_NAMESPACE
}  // namespace skyrank::planner
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::planner {

HWY_EXPORT(count_pairs32);
HWY_EXPORT(count_pairs64);
HWY_EXPORT(count_spared32);
HWY_EXPORT(count_spared64);

void count_pairs(const KeyMatrix<std::uint32_t>& matrix, std::uint32_t* counts, std::uint32_t* places) {
  HWY_DYNAMIC_DISPATCH(count_pairs32)(matrix, counts, places);
}
void count_pairs(const KeyMatrix<std::uint64_t>& matrix, std::uint32_t* counts, std::uint32_t* places) {
  HWY_DYNAMIC_DISPATCH(count_pairs64)(matrix, counts, places);
}
std::size_t count_spared(const KeyMatrix<std::uint32_t>& matrix, std::span<const std::uint32_t> strong) {
  return HWY_DYNAMIC_DISPATCH(count_spared32)(matrix, strong);
}
std::size_t count_spared(const KeyMatrix<std::uint64_t>& matrix, std::span<const std::uint32_t> strong) {
  return HWY_DYNAMIC_DISPATCH(count_spared64)(matrix, strong);
}

}  // namespace skyrank::planner
#endif
