#include <algorithm>
#include <bit>
#include <numeric>
#include <vector>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/counters.hpp"
#include "kernels/common/noted_work.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/skyline/mask_order.hpp"
#include "kernels/cpu/vector_targets.hpp"

// SkyAlign: a static grid at the quartiles of every dimension gives each row two masks, which settle most pairs of rows
// without a dominance test.
//
// The prefilter of the paper takes the least over all rows of a row's greatest coordinate, tau, and drops rows whose
// every coordinate is above it. Keys of different dimensions have no common unit, so coordinates are here the ranks of
// keys in a sample of their dimension. The keys of rank tau make a corner at or above some row in every dimension;
// whatever the corner dominates, that row does. This is exact for any sample.
//
// Rows are ordered by (population, bits) of the median mask M. Phase l settles the rows of population l among each
// other, then removes from the rows of higher populations what those that stay dominate, and closes the gaps. The
// paper has both in one step; taking them apart spares the tests against rows that do not stay. In the terms of its
// equations: (2) is the order of the phases, (3) keeps a row within its own cell in its own phase, (1) selects the
// cells of a phase that a row meets, (4) and (5) the rows of a cell. Equal rows are represented by the first of them,
// so that every test is the one for distinct values. A mask test, counted by the masks looked at, is one lane of a
// vector.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/skyline/skyalign.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/skyline/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::skyline {
namespace HWY_NAMESPACE {
namespace {

constexpr std::size_t kRanks = 1024;    ///< ranks of the prefilter
constexpr std::size_t kTestGrain = 64;  ///< rows that one thread compares with others at a time

/// Appends those of the rows [begin, end) that are nowhere above `corner`.
template <class Key>
void append_within(const SkylineProblem& problem, const Vector<Key>& corner, std::size_t begin, std::size_t end,
                   RowIndices& found) {
  const hn::ScalableTag<Key> tag;
  const std::size_t d = problem.keys.size();
  std::size_t row = begin;
  for (; row + hn::Lanes(tag) <= end; row += hn::Lanes(tag)) {
    auto within = hn::FirstN(tag, hn::Lanes(tag));
    for (std::size_t j = 0; j < d && !hn::AllFalse(tag, within); ++j) {
      const auto x = hn::LoadU(tag, problem.keys[j].template as<Key>() + row);
      within = hn::AndNot(hn::Gt(x, hn::Set(tag, corner[j])), within);
    }
    for (std::uint64_t bits = bits_of(tag, within); bits != 0; bits &= bits - 1) {
      found.push_back(static_cast<std::uint32_t>(row + static_cast<std::size_t>(std::countr_zero(bits))));
    }
  }
  for (; row < end; ++row) {
    std::size_t j = 0;
    while (j < d && problem.keys[j].template as<Key>()[row] <= corner[j]) ++j;
    if (j == d) found.push_back(static_cast<std::uint32_t>(row));
  }
}

/// The keys of rank tau, or nothing if some key of every row is above all quantiles.
template <class Key>
Vector<Key> find_corner(const SkylineProblem& problem, const Context& context) {
  const RowIndices sample = sample_rows(problem.n, kRanks);
  const Quantiles<Key> ranks = find_quantiles<Key>(problem, sample, kRanks);
  const auto least_of_greatest = [&](const RowIndices& rows, std::size_t tau) {
    for (const std::uint32_t row : rows) {
      std::size_t greatest = 0;
      for (std::size_t j = 0; j < ranks.d && greatest < tau; ++j) {
        greatest = std::max(greatest, ranks.level(j, problem.keys[j].template as<Key>()[row]));
      }
      tau = std::min(tau, greatest);
    }
    return tau;
  };
  const auto corner = [&](std::size_t rank) {
    Vector<Key> keys(ranks.d);
    for (std::size_t j = 0; j < ranks.d; ++j) keys[j] = ranks.of(j)[rank];
    return keys;
  };
  std::size_t tau = least_of_greatest(sample, kRanks - 1);
  if (tau > 0) {
    // Only rows within the corner of the next lower rank can lower it.
    const Vector<Key> below = corner(tau - 1);
    const RowIndices better = scan_rows(problem.n, context, [&](std::size_t begin, std::size_t end, RowIndices& found) {
      append_within(problem, below, begin, end, found);
    });
    tau = least_of_greatest(better, tau);
  }
  return tau < kRanks - 1 ? corner(tau) : Vector<Key>{};
}

template <class Key>
RowIndices prefilter(const SkylineProblem& problem, const Context& context) {
  const Vector<Key> corner = find_corner<Key>(problem, context);
  if (corner.empty()) {
    RowIndices all(problem.n);
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }
  return scan_rows(problem.n, context, [&](std::size_t begin, std::size_t end, RowIndices& found) {
    append_spared<Key>(problem, corner, begin, end, found);
  });
}

/// Rows in the order of their masks.
template <class Mask>
struct MaskedRows {
  RowIndices rows;
  Vector<Mask> median;
  Vector<Mask> quartile;

  explicit MaskedRows(std::size_t n) : rows(n), median(n + kMaskRoom<Mask>), quartile(n + kMaskRoom<Mask>) {}

  std::size_t size() const { return rows.size(); }

  /// Keeps the rows [begin, size()) that are not marked.
  void keep_unmarked(std::size_t begin, const Vector<std::uint8_t>& marked) {
    std::size_t kept = 0;
    for (std::size_t i = begin; i < size(); ++i) {
      if (marked[i] != 0) continue;
      rows[kept] = rows[i];
      median[kept] = median[i];
      quartile[kept] = quartile[i];
      ++kept;
    }
    rows.resize(kept);
  }
};

/// Rows of one population of the median mask, by cells of the grid.
template <class Mask>
struct Level {
  RowIndices rows;
  Vector<Mask> quartile;  ///< quartile masks of the rows
  Vector<Mask> cells;     ///< their distinct median masks
  RowIndices starts;      ///< starts of the cells' rows, and the end

  /// The first `n` of `from` that are not marked.
  Level(const MaskedRows<Mask>& from, std::size_t n, const Vector<std::uint8_t>& marked) {
    for (std::size_t i = 0; i < n; ++i) {
      if (marked[i] != 0) continue;
      if (cells.empty() || cells.back() != from.median[i]) {
        cells.push_back(from.median[i]);
        starts.push_back(static_cast<std::uint32_t>(rows.size()));
      }
      rows.push_back(from.rows[i]);
      quartile.push_back(from.quartile[i]);
    }
    starts.push_back(static_cast<std::uint32_t>(rows.size()));
    cells.resize(cells.size() + kMaskRoom<Mask>);
    quartile.resize(quartile.size() + kMaskRoom<Mask>);
  }
};

template <class Key, class Mask, class Counters>
class Phases {
 public:
  Phases(const MaskOrdered<Key>& ordered, Counters& counters, const Context& context)
      : keys_(ordered.keys), rest_(ordered.size()), counters_(counters), context_(context) {
    std::iota(rest_.rows.begin(), rest_.rows.end(), 0u);
    std::transform(ordered.median.begin(), ordered.median.end(), rest_.median.begin(), narrow);
    std::transform(ordered.quartile.begin(), ordered.quartile.end(), rest_.quartile.begin(), narrow);
  }

  RowIndices operator()() {
    RowIndices skyline;
    while (rest_.size() > 0) {
      const int population = std::popcount(rest_.median.front());
      const auto end = static_cast<std::size_t>(
          std::partition_point(rest_.median.begin(), rest_.median.begin() + static_cast<std::ptrdiff_t>(rest_.size()),
                               [&](Mask mask) { return std::popcount(mask) == population; }) -
          rest_.median.begin());
      marked_.assign(rest_.size(), 0);
      mark_within_cells(end);
      const Level<Mask> level(rest_, end, marked_);
      skyline.insert(skyline.end(), level.rows.begin(), level.rows.end());
      mark_above(level, end);
      rest_.keep_unmarked(end, marked_);
    }
    return skyline;
  }

 private:
  static Mask narrow(std::uint64_t mask) { return static_cast<Mask>(mask); }

  bool dominates(std::uint32_t a, std::uint32_t b, Counters& counters) const {
    counters.dominance_tests(1);
    return dominates_distinct_padded(keys_[a], keys_[b], keys_.stride());
  }

  /// Marks those of the first `end` rows, which have one population, that an earlier row of the same cell dominates.
  void mark_within_cells(std::size_t end) {
    parallel_for(end, kTestGrain, counters_, [&](std::size_t first, std::size_t last, Counters& own) {
      const auto start_of = [&](std::size_t i) {
        const auto begin = rest_.median.begin();
        return static_cast<std::size_t>(
            std::lower_bound(begin, begin + static_cast<std::ptrdiff_t>(i), rest_.median[i]) - begin);
      };
      std::size_t cell = 0;
      for (std::size_t i = first; i < last; ++i) {
        context_.check();
        if (i == first || rest_.median[i] != rest_.median[i - 1]) cell = start_of(i);
        const auto forbidden = static_cast<Mask>(~rest_.quartile[i]);
        const auto search = find_mask(rest_.quartile.data(), cell, i, forbidden, [&](std::size_t j) HWY_ATTR {
          return dominates(rest_.rows[j], rest_.rows[i], own);
        });
        own.mask_tests(search.tests);
        marked_[i] = search.found;
      }
    });
  }

  /// Marks those of the rows from `begin` on, which have higher populations, that a row of the level dominates.
  void mark_above(const Level<Mask>& level, std::size_t begin) {
    parallel_for(rest_.size() - begin, kTestGrain, counters_, [&](std::size_t first, std::size_t last, Counters& own) {
      RowIndices open;  // cells of the level that may have a row dominating one of the current row's cell
      std::uint64_t cell_tests = 0;
      for (std::size_t i = begin + first; i < begin + last; ++i) {
        context_.check();
        const Mask median = rest_.median[i];
        if (i == begin + first || median != rest_.median[i - 1]) list_open(level, median, open);
        const std::size_t cell = find_dominating(level, open, i, own);
        marked_[i] = cell < level.starts.size() - 1;
        cell_tests += marked_[i] != 0 ? cell + 1 : cell;
      }
      if constexpr (Counters::kEnabled) noted_cell_tests() += cell_tests;
    });
  }

  static void list_open(const Level<Mask>& level, Mask median, RowIndices& open) {
    open.clear();
    find_mask(level.cells.data(), 0, level.starts.size() - 1, static_cast<Mask>(~median), [&](std::size_t cell) {
      open.push_back(static_cast<std::uint32_t>(cell));
      return false;
    });
  }

  /// Returns the first of the open cells that has a row dominating row i of the rest, or the number of cells.
  std::size_t find_dominating(const Level<Mask>& level, const RowIndices& open, std::size_t i,
                              Counters& counters) const {
    const auto below_quartile = static_cast<Mask>(~rest_.quartile[i]);
    const auto below_median = static_cast<Mask>(~rest_.median[i]);
    for (const std::uint32_t cell : open) {
      // The quartiles must not speak against it where the medians do not tell the two apart.
      const auto forbidden = static_cast<Mask>((level.cells[cell] | below_median) & below_quartile);
      const auto search =
          find_mask(level.quartile.data(), level.starts[cell], level.starts[cell + 1], forbidden,
                    [&](std::size_t j) HWY_ATTR { return dominates(level.rows[j], rest_.rows[i], counters); });
      counters.mask_tests(search.tests);
      if (search.found) return cell;
    }
    return level.starts.size() - 1;
  }

  const PaddedRows<Key>& keys_;
  MaskedRows<Mask> rest_;        ///< rows that are not settled
  Vector<std::uint8_t> marked_;  ///< flags of the dominated ones among them
  Counters& counters_;
  const Context& context_;
};

template <class Key, class Counters>
SkylineSolution solve(const SkylineProblem& problem, Counters counters, const Context& context) {
  const std::size_t d = problem.keys.size();
  const RowIndices ids = prefilter<Key>(problem, context);
  counters.candidates(ids.size());
  counters.bytes_read((problem.n + ids.size()) * d * sizeof(Key));
  const auto ordered = order_by_grid<Key>(problem, ids, true, context);
  counters.bytes_written(2 * ids.size() * ordered.keys.stride() * sizeof(Key));
  const RowIndices skyline = d <= 32 ? Phases<Key, std::uint32_t, Counters>(ordered, counters, context)()
                                     : Phases<Key, std::uint64_t, Counters>(ordered, counters, context)();
  SkylineSolution solution;
  solution.rows = rows_of(ordered, skyline, context);
  solution.work = counters.total();
  return solution;
}

SkylineSolution solve_on_target(const SkylineProblem& problem, const Context& context) {
  return with_key_and_counters(
      problem, context, [&](auto key, auto counters) { return solve<decltype(key)>(problem, counters, context); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace skyrank::kernels::skyline
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skyrank::kernels::skyline {
namespace {

HWY_EXPORT(solve_on_target);

SkylineSolution run(const SkylineProblem& problem, const ParameterValues&, const Context& context) {
  if (problem.n == 0) return {};
  return HWY_DYNAMIC_DISPATCH(solve_on_target)(problem, context);
}

}  // namespace

extern const SkylineAlgorithm skyalign{
    .name = "skyalign",
    .summary = "quartile grid: masks settle most pairs of rows without a dominance test; in phases of mask population",
    .source =
        "Bøgh, Chester, Assent: Work-Efficient Parallel Skyline Computation for the GPU, PVLDB 8(9), 2015, "
        "sections 4, 5",
    .device = Device::cpu,
    .parameters = {},
    .supports = supports_flat_pareto,
    .run = run,
};

}  // namespace skyrank::kernels::skyline
#endif
