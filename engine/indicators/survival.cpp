#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/fronts.hpp>

#include "engine/indicators/crowding.hpp"
#include "engine/indicators/dense_points.hpp"

// Crowding distances and the survival of NSGA-II.
namespace skyrank {
namespace {

using exec::DensePoints;
using Rows = std::span<RowId>;

/// Rows in the order of their levels, and within a level ascending. `ends` has the end of each level.
struct LevelRows {
  std::vector<RowId> rows;
  std::vector<std::size_t> ends;

  Rows level(std::size_t i) { return Rows(rows).subspan(begin(i), ends[i] - begin(i)); }

 private:
  std::size_t begin(std::size_t i) const { return i == 0 ? 0 : ends[i - 1]; }
};

LevelRows by_level(const std::vector<std::int32_t>& levels) {
  LevelRows sorted;
  if (levels.empty()) return sorted;
  const auto count = static_cast<std::size_t>(*std::max_element(levels.begin(), levels.end())) + 1;
  std::vector<std::size_t> next(count + 1, 0);
  for (const std::int32_t level : levels) ++next[static_cast<std::size_t>(level) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  sorted.ends.assign(next.begin() + 1, next.end());
  sorted.rows.resize(levels.size());
  for (std::size_t row = 0; row < levels.size(); ++row) {
    sorted.rows[next[static_cast<std::size_t>(levels[row])]++] = static_cast<RowId>(row);
  }
  return sorted;
}

/// Finds the crowding distance of the rows of one level, and puts the rows in the order of columns.
void find_crowding(const DensePoints& points, Rows rows, std::vector<double>& crowding) {
  for (std::size_t column = 0; column < points.dims; ++column) {
    const auto value = [&](RowId row) { return points[static_cast<std::size_t>(row)][column]; };
    std::sort(rows.begin(), rows.end(), exec::by_value(value));
    exec::add_crowding(rows, value, crowding.data());
  }
}

/// Returns Pareto levels where rows with a violation come after all others, by their violation.
std::vector<std::int32_t> constrained_levels(const Points& points, const DensePoints& dense,
                                             std::span<const double> violations) {
  std::vector<RowId> feasible;
  std::vector<double> amounts;
  for (std::size_t row = 0; row < dense.size; ++row) {
    if (violations[row] > 0) {
      amounts.push_back(violations[row]);
    } else {
      feasible.push_back(static_cast<RowId>(row));
    }
  }
  if (amounts.empty()) return pareto_ranks(points);
  std::vector<double> values;
  for (const RowId row : feasible) {
    const double* const first = dense[static_cast<std::size_t>(row)];
    values.insert(values.end(), first, first + dense.dims);
  }
  const auto columns = static_cast<std::int64_t>(dense.dims);
  const auto ranks = pareto_ranks({values.data(), Type::float64, static_cast<std::int64_t>(feasible.size()), columns,
                                   columns * std::int64_t{sizeof(double)}, sizeof(double)});
  const std::int32_t after = ranks.empty() ? 0 : *std::max_element(ranks.begin(), ranks.end()) + 1;
  std::sort(amounts.begin(), amounts.end());
  amounts.erase(std::unique(amounts.begin(), amounts.end()), amounts.end());
  std::vector<std::int32_t> levels(dense.size);
  for (std::size_t row = 0; row < dense.size; ++row) {
    const auto place = std::lower_bound(amounts.begin(), amounts.end(), violations[row]) - amounts.begin();
    levels[row] = after + static_cast<std::int32_t>(place);
  }
  for (std::size_t i = 0; i < feasible.size(); ++i) levels[static_cast<std::size_t>(feasible[i])] = ranks[i];
  return levels;
}

void check_violations(std::span<const double> violations, std::size_t rows) {
  if (violations.size() != rows) {
    throw DataError("there is a violation for each of " + std::to_string(rows) + " rows, not " +
                    std::to_string(violations.size()));
  }
  const auto nan = std::find_if(violations.begin(), violations.end(), [](double value) { return std::isnan(value); });
  if (nan != violations.end()) {
    throw DataError("the violation of row " + std::to_string(nan - violations.begin()) + " is NaN");
  }
}

}  // namespace

inline namespace v0 {

std::vector<double> crowding_distances(const Points& points) {
  const DensePoints dense = exec::dense_points(points, "points", exec::Infinities::allowed);
  LevelRows levels = by_level(pareto_ranks(points));
  std::vector<double> crowding(dense.size, 0);
  for (std::size_t i = 0; i < levels.ends.size(); ++i) find_crowding(dense, levels.level(i), crowding);
  return crowding;
}

std::vector<RowId> nsga2_survivors(const Points& points, std::int64_t count, std::span<const double> violations) {
  const DensePoints dense = exec::dense_points(points, "points", exec::Infinities::allowed);
  if (count < 0 || count > points.rows) {
    throw DataError("0 to " + std::to_string(points.rows) + " rows can survive, not " + std::to_string(count));
  }
  if (!violations.empty()) check_violations(violations, dense.size);
  LevelRows levels =
      by_level(violations.empty() ? pareto_ranks(points) : constrained_levels(points, dense, violations));
  std::vector<double> crowding(dense.size, 0);
  const auto survivors = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < levels.ends.size() && (i == 0 || levels.ends[i - 1] < survivors); ++i) {
    const Rows rows = levels.level(i);
    find_crowding(dense, rows, crowding);
    const auto of = [&](RowId row) { return crowding[static_cast<std::size_t>(row)]; };
    std::sort(rows.begin(), rows.end(), [&](RowId a, RowId b) { return of(a) != of(b) ? of(a) > of(b) : a < b; });
  }
  levels.rows.resize(survivors);
  return std::move(levels.rows);
}

}  // namespace v0
}  // namespace skyrank
