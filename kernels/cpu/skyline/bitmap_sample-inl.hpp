// Samples the rows for blocked_bitmap.cpp before it goes over all of them: the grid, the rows that dominate most, and
// how low the lowest level sums are. Compiled for each target of the file that includes it.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <hwy/cache_control.h>

#include "kernels/common/counters.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/skyline/sample.hpp"

#if defined(SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_SAMPLE_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_SAMPLE_INL_HPP_
#undef SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_SAMPLE_INL_HPP_
#else
#define SKYRANK_KERNELS_CPU_SKYLINE_BITMAP_SAMPLE_INL_HPP_
#endif

#include <hwy/highway.h>

#include "kernels/cpu/skyline/bitmap_candidates-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::skyline {
namespace HWY_NAMESPACE {
namespace {

using Rows = RawVector<std::uint32_t>;

inline constexpr std::size_t kKillers = 4;
inline constexpr std::size_t kSamplePart = 256;  ///< rows of a sample that one thread looks at
static_assert(kSamplePart <= kTile);

/// Rows of a problem with their keys in short columns, and a grid at the quantiles of some of them.
template <class Key>
class Sample {
 public:
  Sample(const SkylineProblem& problem, const RowIndices& rows)
      : grid_(problem.keys.size()),
        n_(rows.size()),
        padded_(hwy::RoundUpTo(n_, hn::MaxLanes(hn::ScalableTag<Key>()))),
        keys_(grid_.d * padded_),
        columns_(grid_.d) {
    for (std::size_t l = 0; l < grid_.levels; ++l) {
      cost_of_level_[l] = -std::log2(1.0F - static_cast<float>(l) / static_cast<float>(grid_.levels));
    }
    parallel_for(grid_.d, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t j = begin; j < end; ++j) {
        const Key* column = problem.keys[j].template as<Key>();
        Key* to = keys_.data() + j * padded_;
        for (std::size_t i = 0; i < n_; ++i) to[i] = column[rows[i]];
        std::fill(to + n_, to + padded_, Key{0});
        columns_[j] = {to, problem.keys[j].width};
        cut_quantiles(j);
      }
    });
  }

  const Grid<Key>& grid() const { return grid_; }
  SkylineProblem problem() const { return {n_, columns_, {}, Memory::host}; }

  /// Keys of the rows that dominate the largest share of the grid if dimensions are independent, row after row.
  Vector<Key> killers() const {
    Vector<Cost> best((n_ + kSamplePart - 1) / kSamplePart * kKillers, {std::numeric_limits<float>::infinity(), 0});
    parallel_for(best.size() / kKillers, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t part = begin; part < end; ++part) find_cheapest(part, best.data() + part * kKillers);
    });
    const std::size_t count = std::min(kKillers, n_);
    std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(count), best.end());
    Vector<Key> killers;
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t j = 0; j < grid_.d; ++j) killers.push_back(keys_[j * padded_ + best[k].second]);
    }
    return killers;
  }

 private:
  using Cost = std::pair<float, std::uint32_t>;

  void cut_quantiles(std::size_t j) {
    const std::size_t step = std::max<std::size_t>(4, n_ / kSampleRows);
    Vector<Key> values;
    for (std::size_t i = 0; i < n_; i += step) values.push_back(keys_[j * padded_ + i]);
    sort_keys(values);
    cut<Key>(values, j, grid_);
  }

  /// Adds to the costs of rows [first, first + costs.size()) the negative logarithm of the share of the grid that each
  /// dominates in dimension j.
  void add_costs(std::size_t j, std::size_t first, std::span<Cost> costs) const {
    const hn::ScalableTag<Key> tag;
    // Below the first threshold, where the best rows of correlated data are, by the distance from it.
    const Key least = grid_.least[j];
    const Key reach = std::max<Key>(grid_.thresholds[j * grid_.levels] - least, 1);
    const float finest = cost_of_level_[1] / static_cast<float>(reach);
    const LevelSearch<Key> search(grid_, j);
    HWY_ALIGN std::array<Key, hn::MaxLanes(tag)> levels;
    for (std::size_t begin = 0; begin < costs.size(); begin += hn::Lanes(tag)) {
      const Key* values = keys_.data() + j * padded_ + first + begin;
      hn::Store(search(hn::LoadU(tag, values)), tag, levels.data());
      for (std::size_t i = 0; i < std::min(hn::Lanes(tag), costs.size() - begin); ++i) {
        costs[begin + i].first += levels[i] == 0 ? finest * static_cast<float>(values[i] - std::min(values[i], least))
                                                 : cost_of_level_[levels[i]];
      }
    }
  }

  /// The kKillers rows of a part of the lowest costs in all dimensions.
  void find_cheapest(std::size_t part, Cost* best) const {
    std::array<Cost, kSamplePart> of_rows;
    const std::size_t first = part * kSamplePart;
    const std::span costs = std::span(of_rows).first(std::min(kSamplePart, n_ - first));
    for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = {0.0F, static_cast<std::uint32_t>(first + i)};
    for (std::size_t j = 0; j < grid_.d; ++j) add_costs(j, first, costs);
    std::partial_sort_copy(costs.begin(), costs.end(), best, best + std::min(kKillers, costs.size()));
  }

  Grid<Key> grid_;
  std::size_t n_;
  std::size_t padded_;  ///< keys of a column with the rest of its last vector
  RawVector<Key> keys_;
  Vector<KeyColumn> columns_;
  std::array<float, 32> cost_of_level_{};
};

/// Level sums of at most kTile rows of the problem.
template <class Key>
void find_level_sums(const SkylineProblem& problem, const Grid<Key>& grid, std::span<const std::uint32_t> rows,
                     std::array<std::uint16_t, kTile>& sums) {
  const hn::ScalableTag<Key> tag;
  HWY_ALIGN std::array<Key, kTile> values;
  HWY_ALIGN std::array<Key, kTile> found;
  std::fill(values.begin() + static_cast<std::ptrdiff_t>(rows.size()), values.end(), Key{0});
  sums.fill(0);
  for (std::size_t j = 0; j < grid.d; ++j) {
    const Key* column = problem.keys[j].template as<Key>();
    const LevelSearch<Key> search(grid, j);
    for (std::size_t i = 0; i < rows.size(); ++i) values[i] = column[rows[i]];
    for (std::size_t i = 0; i < rows.size(); i += hn::Lanes(tag)) {
      hn::Store(search(hn::Load(tag, values.data() + i)), tag, found.data() + i);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) sums[i] = static_cast<std::uint16_t>(sums[i] + found[i]);
  }
}

/// Appends those of the rows whose level sums are below `limit`.
template <class Key>
void pick_low(const SkylineProblem& problem, const Grid<Key>& grid, const Rows& rows, std::size_t limit,
              RowIndices& picked) {
  const hn::ScalableTag<std::uint16_t> tag;
  const auto bound = hn::Set(tag, static_cast<std::uint16_t>(limit));
  std::array<std::uint16_t, kTile> sums;
  static_assert(kTile % hn::MaxLanes(tag) == 0);
  for (std::size_t first = 0; first < rows.size(); first += kTile) {
    const std::size_t count = std::min(kTile, rows.size() - first);
    find_level_sums(problem, grid, std::span(rows).subspan(first, count), sums);
    for (std::size_t i = 0; i < count; i += hn::Lanes(tag)) {
      if (hn::AllFalse(tag, hn::Lt(hn::LoadU(tag, sums.data() + i), bound))) continue;
      for (std::size_t k = i; k < std::min(count, i + hn::Lanes(tag)); ++k) {
        if (sums[k] < limit) picked.push_back(rows[first + k]);
      }
    }
  }
}

/// Rows [begin, end) that no killer dominates. Keys are asked for early, as far ahead in each column as a vector needs
/// of it: there are more columns than what fetches by itself follows, and that stops where a page ends.
template <class Key, class Counters>
Rows find_spared(const SkylineProblem& problem, std::span<const Key> killers, std::size_t begin, std::size_t end,
                 Counters& counters) {
  const hn::ScalableTag<Key> tag;
  const std::size_t lanes = hn::Lanes(tag);
  const std::size_t d = problem.keys.size();
  constexpr std::size_t kAhead = 512 / sizeof(Key);  // keys of eight cache lines
  Rows result(end - begin);
  std::size_t count = 0;
  for (std::size_t row = begin; row < end; row += lanes) {
    const std::size_t here = std::min(lanes, end - row);
    const std::size_t ahead = std::min(kAhead, end - row);
    const auto load = [&](std::size_t j) HWY_ATTR {
      const Key* keys = problem.keys[j].template as<Key>() + row;
      hwy::Prefetch(keys + ahead);
      return HWY_LIKELY(here == lanes) ? hn::LoadU(tag, keys) : hn::MaskedLoad(hn::FirstN(tag, here), tag, keys);
    };
    auto spared = hn::FirstN(tag, here);
    for (const Key* killer = killers.data(); killer != killers.data() + killers.size(); killer += d) {
      counters.dominance_tests(here);
      auto no_better = spared;
      auto worse = hn::FirstN(tag, 0);
      for (std::size_t j = 0; j < d; ++j) {
        if (j % 4 == 0 && hn::AllFalse(tag, no_better)) break;
        const auto keys = load(j);
        const auto limit = hn::Set(tag, killer[j]);
        no_better = hn::AndNot(hn::Lt(keys, limit), no_better);
        worse = hn::Or(worse, hn::Gt(keys, limit));
      }
      spared = hn::AndNot(hn::And(no_better, worse), spared);
      if (hn::AllFalse(tag, spared)) break;
    }
    for (std::uint64_t bits = bits_of(tag, spared); bits != 0; bits &= bits - 1) {
      result[count++] = static_cast<std::uint32_t>(row + static_cast<std::size_t>(std::countr_zero(bits)));
    }
  }
  result.resize(count);
  return result;
}

/// The level sum below which about `wished` of n rows are, of those that no killer dominates, as the sample has it.
template <class Key, class Counters>
std::size_t find_low_limit(const Sample<Key>& sample, std::span<const Key> killers, std::size_t n, std::size_t wished,
                           Counters& counters) {
  const SkylineProblem problem = sample.problem();
  const std::size_t num_scores = sample.grid().num_scores();
  Vector<std::uint16_t> scores(problem.n, static_cast<std::uint16_t>(num_scores));
  parallel_for((problem.n + kSamplePart - 1) / kSamplePart, 1, counters,
               [&](std::size_t first, std::size_t last, Counters& own) {
                 std::array<std::uint16_t, kTile> sums;
                 for (std::size_t part = first; part < last; ++part) {
                   const std::size_t begin = part * kSamplePart;
                   const Rows spared =
                       find_spared(problem, killers, begin, std::min(problem.n, begin + kSamplePart), own);
                   find_level_sums(problem, sample.grid(), spared, sums);
                   for (std::size_t i = 0; i < spared.size(); ++i) scores[spared[i]] = sums[i];
                 }
               });
  Vector<std::size_t> counts(num_scores + 1);
  for (const std::uint16_t score : scores) ++counts[score];
  std::size_t limit = 0;
  for (std::size_t below = 0; limit < num_scores && below * n < wished * problem.n; ++limit) below += counts[limit];
  return limit;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::skyline
HWY_AFTER_NAMESPACE();

#endif
