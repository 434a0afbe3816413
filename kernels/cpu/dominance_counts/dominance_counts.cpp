#include "kernels/cpu/dominance_counts/dominance_counts.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/cpu/levels/sorted_points.hpp"
#include "kernels/cpu/parallel.hpp"

namespace skyrank::kernels {
namespace {

using dominance_counts::Direction;
using dominance_counts::WeightedPoints;

constexpr std::size_t kMaxSweptKeys = 2;

/// Returns how many rows each point stands for.
Vector<std::int32_t> weights_of(const levels::SortedPoints& sorted, bool distinct) {
  Vector<std::int32_t> weights(sorted.points.size(), distinct ? 1 : 0);
  if (distinct) return weights;
  for (const std::uint32_t point : sorted.point_of) ++weights[point];
  return weights;
}

/// Returns, for each point, if the number of one of its rows is asked for.
Vector<std::uint8_t> wanted_points(const levels::SortedPoints& sorted, std::span<const std::uint8_t> wanted) {
  Vector<std::uint8_t> points(sorted.points.size(), wanted.empty() ? 1 : 0);
  if (wanted.empty()) return points;
  for (std::size_t i = 0; i < sorted.rows.size(); ++i)
    points[sorted.point_of[i]] |= wanted[levels::row_of(sorted.rows[i])];
  return points;
}

DominanceCounts count(const DominanceCountsProblem& problem, Direction direction, const Context& context) {
  if (problem.n == 0) return {};
  context.check();
  // A single key is swept as a pair of equal ones.
  Vector<KeyColumn> keys(problem.keys.begin(), problem.keys.end());
  if (keys.size() == 1) keys.push_back(keys.front());
  const levels::SortedPoints sorted = levels::sorted_points({.n = problem.n, .keys = keys}, context);
  const Vector<std::int32_t> weights = weights_of(sorted, problem.distinct);
  const Vector<std::uint8_t> wanted = wanted_points(sorted, problem.wanted);
  const WeightedPoints points{sorted.points.size(), keys.size(), sorted.points[0], weights.data(), wanted.data()};
  Vector<std::int64_t> of_points(points.size);
  DominanceCounts found{Vector<std::int64_t>(problem.n), {}};
  if (points.dims <= kMaxSweptKeys) {
    dominance_counts::sweep(points, direction, of_points.data(), context);
  } else if (problem.enough >= static_cast<std::int64_t>(kMaxLevelRows) &&
             dominance_counts::are_halved(points.size, static_cast<std::size_t>(std::ranges::count(wanted, 1)))) {
    dominance_counts::halves(points, direction, of_points.data(), found.work, context);
  } else {
    dominance_counts::pairs(points, direction, problem.enough, of_points.data(), found.work, context);
  }
  parallel_for(problem.n, levels::kSortGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      found.counts[levels::row_of(sorted.rows[i])] = std::min(of_points[sorted.point_of[i]], problem.enough);
    }
  });
  return found;
}

/// Returns some keys of a column.
template <class Key>
Vector<std::byte> taken(const KeyColumn& column, const Vector<std::uint32_t>& rows) {
  Vector<std::byte> keys(rows.size() * sizeof(Key));
  auto* const out = reinterpret_cast<Key*>(keys.data());
  parallel_for(rows.size(), levels::kSortGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) out[i] = column.as<Key>()[rows[i]];
  });
  return keys;
}

/// Counts the dominators of the rows that a prefilter leaves; all others have enough.
DominanceCounts count_left(const DominanceCountsProblem& problem, const Context& context) {
  const Vector<std::uint32_t> rows = dominance_counts::rows_left(problem, context);
  Vector<Vector<std::byte>> columns;
  Vector<KeyColumn> views;
  for (const KeyColumn& column : problem.keys) {
    columns.push_back(column.width == KeyWidth::bytes8 ? taken<std::uint64_t>(column, rows)
                                                       : taken<std::uint32_t>(column, rows));
    views.push_back({columns.back().data(), column.width});
  }
  DominanceCounts found =
      count({.n = rows.size(), .keys = views, .enough = problem.enough, .distinct = problem.distinct},
            Direction::dominators, context);
  const Vector<std::int64_t> of_left = std::move(found.counts);
  found.counts = Vector<std::int64_t>(problem.n, problem.enough);
  for (std::size_t i = 0; i < rows.size(); ++i) found.counts[rows[i]] = of_left[i];
  return found;
}

}  // namespace

DominanceCounts count_dominators(const DominanceCountsProblem& problem, const Context& context) {
  if (dominance_counts::may_prefilter(problem)) return count_left(problem, context);
  return count(problem, Direction::dominators, context);
}

DominanceCounts count_dominated(const DominanceCountsProblem& problem, const Context& context) {
  DominanceCountsProblem all = problem;
  all.enough = std::numeric_limits<std::int64_t>::max();
  return count(all, Direction::dominated, context);
}

DominanceCounts count_dominated_by(const DominanceCountsProblem& problem, std::span<const std::int64_t> rows,
                                   const Context& context) {
  if (dominance_counts::are_few(problem, rows.size())) {
    return dominance_counts::count_dominated_by_few(problem, rows, context);
  }
  Vector<std::uint8_t> wanted(problem.n);
  for (const std::int64_t row : rows) wanted[static_cast<std::size_t>(row)] = 1;
  DominanceCountsProblem some = problem;
  some.wanted = wanted;
  DominanceCounts found = count_dominated(some, context);
  const Vector<std::int64_t> of_all = std::move(found.counts);
  found.counts = Vector<std::int64_t>(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) found.counts[i] = of_all[static_cast<std::size_t>(rows[i])];
  return found;
}

std::string_view dominance_counts_algorithm(std::size_t d) { return d <= kMaxSweptKeys ? "sweep" : "pairs"; }

}  // namespace skyrank::kernels
