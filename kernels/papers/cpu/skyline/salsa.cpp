#include <algorithm>
#include <memory>

#include "kernels/common/algorithm.hpp"
#include "kernels/common/counters.hpp"
#include "kernels/common/rows.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/parallel_sort.hpp"
#include "kernels/cpu/skyline/presorted.hpp"
#include "kernels/cpu/vector_targets.hpp"

// SaLSa: sort and limit. Rows come by ascending least coordinate, and the greatest coordinate of a row is a bound: rows
// whose least coordinate is above it are dominated by that row. So the scan ends at the first row whose least
// coordinate is above the least greatest coordinate of the rows kept, the stop point's.
//
// Coordinates must share one scale. Keys of different dimensions do not, so the scale is a key's level among the
// quantiles of a sample of its dimension. A lower level means a lower key, which makes the bound exact for any sample.
// Equal least levels are ordered by the sum of levels, then by the keys themselves, so that a dominating row always
// comes earlier.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/papers/cpu/skyline/salsa.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu/skyline/vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace skyrank::kernels::skyline {
namespace HWY_NAMESPACE {
namespace {

constexpr std::size_t kLevels = 1024;
constexpr std::size_t kGrain = 1 << 13;  ///< rows that one thread copies and scores at a time

struct Scored {
  std::uint16_t least;  ///< level of the row
  std::uint16_t greatest;
  std::uint32_t sum;
  RowId row;
};

/// All rows in the order of the scan.
template <class Key>
Array<Scored> presort(const SkylineProblem& problem, Rows<Key>& rows, const Context& context) {
  const std::size_t d = problem.keys.size();
  const auto quantiles = find_quantiles<Key>(problem, sample_rows(problem.n, kSampleRows), kLevels);
  Array<Scored> order(problem.n);
  parallel_for(problem.n, kGrain, [&](std::size_t begin, std::size_t end) {
    context.check();
    rows.fill(begin, end);
    for (std::size_t i = begin; i < end; ++i) order[i] = {kLevels, 0, 0, static_cast<RowId>(i)};
    const auto fetch = [&](std::size_t i, std::size_t j) { return rows[i][j]; };
    for_each_level(quantiles, begin, end, fetch, [&](std::size_t i, std::size_t, std::size_t level) {
      order[i].least = std::min(order[i].least, static_cast<std::uint16_t>(level));
      order[i].greatest = std::max(order[i].greatest, static_cast<std::uint16_t>(level));
      order[i].sum += static_cast<std::uint32_t>(level);
    });
  });
  const auto before = [&](const Scored& a, const Scored& b) {
    if (a.least != b.least) return a.least < b.least;
    if (a.sum != b.sum) return a.sum < b.sum;
    const auto [p, q] = std::mismatch(rows[a.row], rows[a.row] + d, rows[b.row]);
    return p == rows[a.row] + d ? a.row < b.row : *p < *q;
  };
  parallel_sort(order.get(), order.get() + problem.n, before, context);
  return order;
}

/// The presorted rows for `filter_presorted`, up to the stop point's bound.
struct Sequence {
  const Scored* order;
  std::size_t n;
  std::uint16_t bound = kLevels;

  std::size_t size() const { return n; }
  RowId row(std::size_t i) const { return order[i].row; }
  bool ties_with_previous(std::size_t i) const {
    return order[i].least == order[i - 1].least && order[i].sum == order[i - 1].sum;
  }
  bool ends_at(std::size_t i) const { return order[i].least > bound; }
  void keep(std::size_t i) { bound = std::min(bound, order[i].greatest); }
};

template <class Key, class Counters>
SkylineSolution solve(const SkylineProblem& problem, std::size_t block_rows, Counters counters,
                      const Context& context) {
  const std::size_t n = problem.n;
  const std::size_t d = problem.keys.size();
  Rows<Key> rows(n, problem.keys);
  const auto order = presort(problem, rows, context);
  counters.bytes_read(n * d * sizeof(Key));
  counters.bytes_written(n * (d * sizeof(Key) + sizeof(Scored)));
  SkylineSolution solution;
  solution.rows = filter_presorted(rows, Sequence{order.get(), n}, block_rows, counters, context);
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
    {"block", "rows compared with the window at the same time, then with each other; the scan may end after each", 1,
     1 << 20, 1024},
};

SkylineSolution run(const SkylineProblem& problem, const ParameterValues& parameters, const Context& context) {
  if (problem.n == 0) return {};
  return HWY_DYNAMIC_DISPATCH(solve_on_target)(problem, static_cast<std::size_t>(parameters["block"]), context);
}

}  // namespace

extern const SkylineAlgorithm salsa{
    .name = "salsa",
    .summary = "sort and limit: sorts rows by their least coordinate, and ends where a row kept dominates all others",
    .source = "Bartolini, Ciaccia, Patella: Efficient Sort-Based Skyline Evaluation, TODS 33(4), 2008",
    .device = Device::cpu,
    .parameters = kParameters,
    .supports = supports_flat_pareto,
    .run = run,
};

}  // namespace skyrank::kernels::skyline
#endif
