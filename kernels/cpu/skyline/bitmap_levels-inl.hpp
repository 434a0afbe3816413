// Quantile levels of keys, for blocked_bitmap.cpp; compiled for each target of the file that includes it.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <hwy/contrib/sort/vqsort.h>

#include "kernels/cpu/skyline/sample.hpp"

#if defined(SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_LEVELS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_LEVELS_INL_HPP_
#undef SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_LEVELS_INL_HPP_
#else
#define SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_LEVELS_INL_HPP_
#endif

#include <hwy/highway.h>

#include "kernels/cpu/skyline/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::skyline {
namespace HWY_NAMESPACE {
namespace {

inline constexpr std::size_t kBlockRows = 512;
inline constexpr std::size_t kWords = kBlockRows / 64;

/// Quantile levels of all dimensions. The bitmaps of a row take levels / 8 bytes a dimension, as much as four-byte keys
/// at 32 levels.
template <class Key>
struct Grid {
  std::size_t d = 0;
  std::size_t levels = 0;       ///< a power of two
  std::size_t code_planes = 0;  ///< bits of each level that the z-order goes by
  Vector<Key> thresholds;       ///< d x levels, ascending, padded with the largest key
  Vector<Key> least;            ///< d: of the sample

  explicit Grid(std::size_t dims)
      : d(dims),
        levels(dims <= 32 ? 32 : 16),
        code_planes(std::min(level_bits(), 64 / d)),
        thresholds(d * levels, std::numeric_limits<Key>::max()),
        least(d) {}

  std::size_t level_bits() const { return static_cast<std::size_t>(std::countr_zero(levels)); }
  std::size_t code_bits() const { return code_planes * d; }
  std::size_t words() const { return d * levels * kWords; }
  std::size_t num_scores() const { return d * (levels - 1) + 1; }

  /// The place in z-order of a row whose levels stand in words, eight a word: its levels' highest bits, then the next.
  std::uint64_t code(const std::uint64_t* words) const {
    constexpr std::uint64_t kLowest = 0x0101010101010101u;
    constexpr std::uint64_t kGather = 0x0102040810204080u;  // of each byte the lowest bit, to the highest byte
    std::uint64_t bits = 0;
    for (std::size_t p = 0; p < code_planes; ++p) {
      const std::size_t bit = level_bits() - code_planes + p;
      for (std::size_t j = 0; j < d; j += 8) bits |= ((words[j / 8] >> bit & kLowest) * kGather >> 56) << (p * d + j);
    }
    return bits;
  }
};

/// Thresholds of one dimension from the ascending values of a sample.
template <class Key>
void cut(std::span<const Key> values, std::size_t j, Grid<Key>& grid) {
  Key* thresholds = grid.thresholds.data() + j * grid.levels;
  grid.least[j] = values.front();
  std::size_t count = 0;
  for (std::size_t l = 1; l < grid.levels; ++l) {
    const Key value = values[values.size() * l / grid.levels];
    if (value > values.front() && (count == 0 || value > thresholds[count - 1])) thresholds[count++] = value;
  }
}

inline void sort_keys(std::span<std::uint32_t> keys) { hwy::Sorter()(keys.data(), keys.size(), hwy::SortAscending()); }
inline void sort_keys(std::span<std::uint64_t> keys) { hwy::Sorter()(keys.data(), keys.size(), hwy::SortAscending()); }

/// The grid at the quantiles of some rows of the problem.
template <class Key>
Grid<Key> make_grid(const SkylineProblem& problem, const RowIndices& rows) {
  Grid<Key> grid(problem.keys.size());
  if (rows.empty()) return grid;
  parallel_for(grid.d, rows.size() < 256 ? grid.d : 1, [&](std::size_t begin, std::size_t end) {
    Vector<Key> values(rows.size());
    for (std::size_t j = begin; j < end; ++j) {
      const Key* column = problem.keys[j].template as<Key>();
      for (std::size_t i = 0; i < rows.size(); ++i) values[i] = column[rows[i]];
      sort_keys(values);
      cut<Key>(values, j, grid);
    }
  });
  return grid;
}

/// Runs of neighbouring rows at hashed places, about `count` rows: a run costs one cache line a column.
inline RowIndices sample_runs(std::size_t n, std::size_t count) {
  constexpr std::size_t kRun = 16;
  RowIndices rows;
  rows.reserve(std::min(n, count));
  for (const std::size_t run : sample_rows((n + kRun - 1) / kRun, count / kRun)) {
    for (std::size_t row = run * kRun; row < std::min(n, (run + 1) * kRun); ++row) {
      rows.push_back(static_cast<std::uint32_t>(row));
    }
  }
  return rows;
}

/// Levels of vectors of keys in one dimension: the number of thresholds at or below each key, by a binary search that
/// all lanes take together. Where two vectors hold all thresholds, each step is a lookup in registers, else a gather.
template <class Key>
class LevelSearch {
  using Tag = hn::ScalableTag<Key>;
  using IndexTag = hn::RebindToSigned<Tag>;
  using Index = hn::TFromD<IndexTag>;
  using Vector = hn::Vec<Tag>;
  static constexpr bool kInRegisters = hn::MaxLanes(Tag()) == 16 && sizeof(Key) == 4;

 public:
  LevelSearch(const Grid<Key>& grid, std::size_t j)
      : thresholds_(grid.thresholds.data() + j * grid.levels), levels_(grid.levels) {}

  HWY_INLINE Vector operator()(Vector keys) const {
    if constexpr (kInRegisters) {
      if (levels_ == 32) return in_registers(keys);
    }
    const Tag tag;
    const IndexTag index_tag;
    auto level = hn::Zero(index_tag);
    for (std::size_t step = levels_ / 2; step > 0; step /= 2) {
      const auto threshold = hn::GatherIndex(tag, thresholds_ + step - 1, level);
      level = hn::Add(level, step_if_reached(keys, threshold, step));
    }
    return hn::BitCast(tag, level);
  }

 private:
  HWY_INLINE hn::Vec<IndexTag> step_if_reached(Vector keys, Vector threshold, std::size_t step) const {
    const IndexTag index_tag;
    const auto below = hn::RebindMask(index_tag, hn::Lt(keys, threshold));
    return hn::IfThenZeroElse(below, hn::Set(index_tag, static_cast<Index>(step)));
  }

  HWY_INLINE Vector in_registers(Vector keys) const {
    const Tag tag;
    const IndexTag index_tag;
    const auto lower = hn::LoadU(tag, thresholds_);
    const auto upper = hn::LoadU(tag, thresholds_ + 16);
    const auto in_lower = hn::Lt(keys, hn::Set(tag, thresholds_[15]));
    auto level = hn::Zero(index_tag);  // within the half
    for (std::size_t step = 8; step > 0; step /= 2) {
      const auto at = hn::IndicesFromVec(tag, hn::Add(level, hn::Set(index_tag, static_cast<Index>(step - 1))));
      const auto threshold = hn::IfThenElse(in_lower, hn::TableLookupLanes(lower, at), hn::TableLookupLanes(upper, at));
      level = hn::Add(level, step_if_reached(keys, threshold, step));
    }
    return hn::Add(hn::BitCast(tag, level), hn::IfThenZeroElse(in_lower, hn::Set(tag, Key{16})));
  }

  const Key* thresholds_;
  std::size_t levels_;
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::skyline
HWY_AFTER_NAMESPACE();

#endif
