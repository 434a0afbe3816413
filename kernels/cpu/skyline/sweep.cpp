#include "kernels/cpu/skyline/sweep.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "kernels/common/counters.hpp"
#include "kernels/cpu/skyline/blocked_bitmap.hpp"
#include "kernels/cpu/skyline/sample.hpp"
#include "kernels/cpu/skyline/sweep_rows.hpp"

// Skylines of one, two and three columns by a sort and a sweep, whose time hardly depends on the size of the skyline.
// Rows that are dominated by a strong one are dropped first, which leaves few rows to sort unless most are in the
// skyline: by the prefilters of blocked-bitmap, or where their samples would take longer, by a single row.
namespace skyrank::kernels::skyline {
namespace {

constexpr std::size_t kFewRows = 1 << 13;  ///< from here on samples pay off
constexpr std::size_t kVeryFew = 32;       ///< up to here a sort is as fast as a prefilter

/// The least key of a column, and a factor that maps its keys to [0, 1].
template <class Key>
struct UnitScale {
  const Key* keys;
  Key least;
  double factor;

  explicit UnitScale(const Key* column, std::size_t n) : keys(column) {
    const auto [low, high] = std::minmax_element(column, column + n);
    least = *low;
    factor = *low == *high ? 0 : 1 / static_cast<double>(*high - *low);
  }
  double operator()(std::size_t row) const { return static_cast<double>(keys[row] - least) * factor; }
};

/// Returns the row whose greatest key, on scales that all columns share, is the least.
template <class Key>
std::size_t central_row(const SkylineProblem& problem) {
  Vector<double> greatest(problem.n);
  for (const KeyColumn& column : problem.keys) {
    const UnitScale<Key> scale(column.as<Key>(), problem.n);
    for (std::size_t row = 0; row < problem.n; ++row) greatest[row] = std::max(greatest[row], scale(row));
  }
  return static_cast<std::size_t>(std::ranges::min_element(greatest) - greatest.begin());
}

/// Returns the rows that the central one does not dominate, ascending.
template <class Key>
Prefiltered drop_dominated_by_one(const SkylineProblem& problem) {
  Prefiltered spared{RawVector<std::uint32_t>(problem.n), {}};
  const std::size_t strong = problem.n > kVeryFew ? central_row<Key>(problem) : 0;
  std::size_t count = 0;
  for (std::size_t row = 0; row < problem.n; ++row) {
    bool less = false;
    bool greater = false;
    for (const KeyColumn& column : problem.keys) {
      less |= column.as<Key>()[row] < column.as<Key>()[strong];
      greater |= column.as<Key>()[row] > column.as<Key>()[strong];
    }
    spared.rows[count] = static_cast<std::uint32_t>(row);
    count += less || !greater ? 1 : 0;
  }
  spared.rows.resize(count);
  spared.work.dominance_tests = problem.n;
  return spared;
}

template <class Key, class Counters>
SkylineSolution solve(const SkylineProblem& problem, Counters counters, const Context& context) {
  context.check();
  const auto [rows, work] = problem.n < kFewRows ? drop_dominated_by_one<Key>(problem) : prefilter(problem, context);
  counters.candidates(rows.size());
  counters.dominance_tests(rows.size());
  counters.bytes_read((problem.n + rows.size()) * problem.keys.size() * sizeof(Key));
  SkylineSolution solution{flagged(rows, sweep_rows<Key>(problem, rows, context)), counters.total()};
  if constexpr (Counters::kEnabled) solution.work += work;
  return solution;
}

Support supports(const SkylineShape& shape) {
  Support support = supports_flat_pareto(shape);
  if (support && shape.d > kMaxSweptColumns) support = Support::no("sweeps one to three columns");
  return support;
}

SkylineSolution run(const SkylineProblem& problem, const ParameterValues&, const Context& context) {
  if (problem.n == 0) return {};
  return with_key_and_counters(
      problem, context, [&](auto key, auto counters) { return solve<decltype(key)>(problem, counters, context); });
}

}  // namespace

const SkylineAlgorithm sweep{
    .name = "sweep",
    .summary = "one to three columns in O(n log n): sorts rows and sweeps them with a staircase",
    .source = "Kung, Luccio, Preparata: On Finding the Maxima of a Set of Vectors, JACM 22(4), 1975, sections 2 and 3",
    .device = Device::cpu,
    .parameters = {},
    .supports = supports,
    .run = run,
};

}  // namespace skyrank::kernels::skyline
