#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/counters.hpp"
#include "kernels/common/noted_work.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/skyline/mask_order.hpp"
#include "kernels/cpu/vector_targets.hpp"

// Hybrid: rows come in blocks, sorted so that none is dominated by a later one. Phase 1 compares the rows of a block
// with the skyline of earlier blocks, phase 2 with each other; both share out the rows among threads. The skyline is a
// tree of two levels, flattened to arrays: cells of one median mask, and in each cell masks against its first row.
//
// Rows are sorted by population and bits of their median masks, then by the sum of their keys' ranks, which stands for
// the L1 norm where keys have no common unit. Sums that tie say nothing about dominance. So the keys themselves decide
// after the sum, and equal rows are represented by the first of them: a dominating row always comes earlier, and all
// tests are those for distinct values.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/papers/cpu/skyline/hybrid.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/skyline/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::skyline {
namespace HWY_NAMESPACE {
namespace {

constexpr std::size_t kStrong = 8;  ///< rows of the prefilter
constexpr std::size_t kTestGrain = 16;

/// Keys of the rows of least rank sum, row after row.
template <class Key>
Vector<Key> find_strong(const SkylineProblem& problem, const Context& context) {
  constexpr std::size_t kLevels = 64;
  const auto quantiles = find_quantiles<Key>(problem, sample_rows(problem.n, kSampleRows), kLevels);
  using Scored = std::pair<std::uint32_t, std::uint32_t>;
  const auto sum_of = [&](std::uint32_t row) {
    std::size_t sum = 0;
    for (std::size_t j = 0; j < quantiles.d; ++j) {
      sum += quantiles.level(j, problem.keys[j].template as<Key>()[row]);
    }
    return static_cast<std::uint32_t>(sum);
  };
  const auto keep_least = [](Vector<Scored>& rows) {
    const std::size_t kept = std::min(kStrong, rows.size());
    std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(kept), rows.end());
    rows.resize(kept);
  };
  const RowIndices finalists =
      scan_rows(problem.n, context, [&](std::size_t begin, std::size_t end, RowIndices& found) {
        Vector<Scored> sums(end - begin);
        for (std::size_t i = begin; i < end; ++i) sums[i - begin].second = static_cast<std::uint32_t>(i);
        const auto fetch = [&](std::size_t i, std::size_t j) { return problem.keys[j].template as<Key>()[i]; };
        for_each_level(quantiles, begin, end, fetch, [&](std::size_t i, std::size_t, std::size_t level) {
          sums[i - begin].first += static_cast<std::uint32_t>(level);
        });
        keep_least(sums);
        for (const Scored& it : sums) found.push_back(it.second);
      });
  Vector<Scored> strong;
  for (const std::uint32_t row : finalists) strong.emplace_back(sum_of(row), row);
  keep_least(strong);
  Vector<Key> keys;
  for (const Scored& it : strong) {
    for (const KeyColumn& column : problem.keys) keys.push_back(column.template as<Key>()[it.second]);
  }
  return keys;
}

template <class Key, class Counters>
RowIndices prefilter(const SkylineProblem& problem, Counters& counters, const Context& context) {
  const Vector<Key> strong = find_strong<Key>(problem, context);
  std::atomic<std::uint64_t> tests = 0;
  RowIndices spared = scan_rows(problem.n, context, [&](std::size_t begin, std::size_t end, RowIndices& found) {
    tests += append_spared<Key>(problem, strong, begin, end, found);
  });
  counters.dominance_tests(tests);
  return spared;
}

template <class Key, class Mask, class Counters>
class Blocks {
 public:
  Blocks(const MaskOrdered<Key>& ordered, Counters& counters, const Context& context)
      : ordered_(ordered),
        keys_(ordered.keys),
        all_(static_cast<Mask>(~std::uint64_t{0} >> (64 - keys_.dims()))),
        counters_(counters),
        context_(context) {}

  RowIndices operator()(std::size_t block_rows) {
    for (std::size_t begin = 0; begin < ordered_.size(); begin += block_rows) {
      const std::size_t count = std::min(block_rows, ordered_.size() - begin);
      block_.resize(count);
      std::iota(block_.begin(), block_.end(), static_cast<std::uint32_t>(begin));
      drop_marked([&](std::size_t first, std::size_t last, Counters& own) { mark_by_skyline(first, last, own); });
      drop_marked([&](std::size_t first, std::size_t last, Counters& own) { mark_by_peers(first, last, own); });
      append_block();
    }
    return std::move(rows_);
  }

 private:
  /// Lets `mark` share out the rows of the block, then removes those it marked.
  template <class Mark>
  void drop_marked(const Mark& mark) {
    medians_.assign(block_.size() + kMaskRoom<Mask>, 0);
    for (std::size_t i = 0; i < block_.size(); ++i) medians_[i] = static_cast<Mask>(ordered_.median[block_[i]]);
    marked_.assign(block_.size(), 0);
    parallel_for(block_.size(), kTestGrain, counters_, mark);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < block_.size(); ++i) {
      if (marked_[i] == 0) block_[kept++] = block_[i];
    }
    block_.resize(kept);
  }

  /// Phase 1.
  void mark_by_skyline(std::size_t first, std::size_t last, Counters& counters) {
    RowIndices open;  // cells that may have a row dominating one of the current row's cell
    std::uint64_t cell_tests = 0;
    for (std::size_t i = first; i < last; ++i) {
      context_.check();
      if (i == first || medians_[i] != medians_[i - 1]) {
        open.clear();
        find_mask(cells_.data(), 0, starts_.size(), static_cast<Mask>(~medians_[i]), [&](std::size_t cell) {
          open.push_back(static_cast<std::uint32_t>(cell));
          return false;
        });
      }
      const auto found =
          std::ranges::find_if(open, [&](std::uint32_t cell) { return dominated_in_cell(cell, block_[i], counters); });
      marked_[i] = found != open.end();
      cell_tests += found != open.end() ? *found + 1 : starts_.size();
    }
    if constexpr (Counters::kEnabled) noted_cell_tests() += cell_tests;
  }

  bool dominated_in_cell(std::size_t cell, std::uint32_t row, Counters& counters) const {
    const std::size_t begin = starts_[cell];
    const std::size_t end = cell + 1 < starts_.size() ? starts_[cell + 1] : rows_.size();
    const Mask mask = mask_of(row, rows_[begin], counters);
    if (mask == all_) return true;
    const auto search = find_mask(masks_.data(), begin + 1, end, static_cast<Mask>(~mask),
                                  [&](std::size_t j) HWY_ATTR { return dominates(rows_[j], row, counters); });
    counters.mask_tests(search.tests);
    return search.found;
  }

  /// Phase 2.
  void mark_by_peers(std::size_t first, std::size_t last, Counters& counters) {
    for (std::size_t i = first; i < last; ++i) {
      context_.check();
      const auto search = find_mask(medians_.data(), 0, i, static_cast<Mask>(~medians_[i]),
                                    [&](std::size_t j) HWY_ATTR { return dominates(block_[j], block_[i], counters); });
      counters.mask_tests(search.tests);
      marked_[i] = search.found;
    }
  }

  /// Adds the rows of the block to the skyline.
  void append_block() {
    cells_.resize(starts_.size());
    masks_.resize(rows_.size());
    for (const std::uint32_t row : block_) {
      const auto median = static_cast<Mask>(ordered_.median[row]);
      const bool first_of_cell = cells_.empty() || cells_.back() != median;
      if (first_of_cell) {
        cells_.push_back(median);
        starts_.push_back(static_cast<std::uint32_t>(rows_.size()));
      }
      masks_.push_back(first_of_cell ? Mask{0} : mask_of(row, rows_[starts_.back()], counters_));
      rows_.push_back(row);
    }
    cells_.resize(cells_.size() + kMaskRoom<Mask>);
    masks_.resize(masks_.size() + kMaskRoom<Mask>);
  }

  bool dominates(std::uint32_t a, std::uint32_t b, Counters& counters) const {
    counters.dominance_tests(1);
    return dominates_distinct_padded(keys_[a], keys_[b], keys_.stride());
  }

  /// Dimensions in which a row is not better than the first one of a cell.
  Mask mask_of(std::uint32_t row, std::uint32_t pivot, Counters& counters) const {
    counters.dominance_tests(1);
    return static_cast<Mask>(not_below(keys_[row], keys_[pivot], keys_.stride())) & all_;
  }

  const MaskOrdered<Key>& ordered_;
  const PaddedRows<Key>& keys_;
  const Mask all_;
  RowIndices block_;
  Vector<Mask> medians_;         ///< median masks of the block's rows
  Vector<std::uint8_t> marked_;  ///< flags of the block's dominated rows
  RowIndices rows_;              ///< the skyline, cell after cell
  Vector<Mask> masks_;           ///< masks of the skyline's rows against the first of their cell
  Vector<Mask> cells_;           ///< median masks
  RowIndices starts_;            ///< starts of the cells' rows
  Counters& counters_;
  const Context& context_;
};

template <class Key, class Counters>
SkylineSolution solve(const SkylineProblem& problem, std::size_t block_rows, Counters counters,
                      const Context& context) {
  const std::size_t d = problem.keys.size();
  const RowIndices ids = prefilter<Key>(problem, counters, context);
  counters.candidates(ids.size());
  counters.bytes_read((2 * problem.n + ids.size()) * d * sizeof(Key));
  const auto ordered = order_by_grid<Key>(problem, ids, false, context);
  counters.bytes_written(2 * ids.size() * ordered.keys.stride() * sizeof(Key));
  const RowIndices skyline = d <= 32 ? Blocks<Key, std::uint32_t, Counters>(ordered, counters, context)(block_rows)
                                     : Blocks<Key, std::uint64_t, Counters>(ordered, counters, context)(block_rows);
  SkylineSolution solution;
  solution.rows = rows_of(ordered, skyline, context);
  solution.work = counters.total();
  return solution;
}

SkylineSolution solve_on_target(const SkylineProblem& problem, std::size_t block_rows, const Context& context) {
  return with_key_and_counters(problem, context, [&](auto key, auto counters) {
    return solve<decltype(key)>(problem, block_rows, counters, context);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::skyline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::skyline {
namespace {

HWY_EXPORT(solve_on_target);

constexpr Parameter kParameters[] = {
    {"block", "rows compared with the skyline at the same time, then with each other", 1, 1 << 20, 1024},
};

SkylineSolution run(const SkylineProblem& problem, const ParameterValues& parameters, const Context& context) {
  if (problem.n == 0) return {};
  return HWY_DYNAMIC_DISPATCH(solve_on_target)(problem, static_cast<std::size_t>(parameters["block"]), context);
}

}  // namespace

extern const SkylineAlgorithm hybrid{
    .name = "hybrid",
    .summary = "blocks of rows in mask order against a skyline with masks of two levels",
    .source =
        "Chester, Šidlauskas, Assent, Bøgh: Scalable Parallelization of Skyline Computation for Multi-core "
        "Processors, ICDE 2015",
    .device = Device::cpu,
    .parameters = kParameters,
    .supports = supports_flat_pareto,
    .run = run,
};

}  // namespace skyrank::kernels::skyline
#endif
