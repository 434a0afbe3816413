#include "planner/facts/statistics.hpp"

#include <algorithm>
#include <cmath>

#include "planner/facts/estimate.hpp"

namespace skyrank::planner {

// Every model of every algorithm asks for the same one.
double SkylineGrowth::rows(double n) const {
  struct Answer {
    double n = 0;
    SkylineGrowth growth = {};
    double rows = 0;
  };
  thread_local Answer last;
  if (n <= 0) return 0;
  if (last.n == n && last.growth == *this) return last.rows;
  constexpr auto kMaxFitted = static_cast<double>(kernels::kMaxDims);
  const double grown = std::log(std::max(1.0, n / std::max(sample, 1.0)));
  const double rows = skyline_of_dims(n, std::clamp(dims + drift * grown, 1.0, kMaxFitted));
  // More rows hardly ever have a smaller skyline.
  const double least = n > sample && drift < 0 ? skyline_of_dims(sample, std::clamp(dims, 1.0, kMaxFitted)) : 0;
  last = {n, *this, std::max(rows, least)};
  return last.rows;
}

Cardinality SkylineGrowth::bounded_rows(double n) const {
  if (n <= 1) return Cardinality::exactly(std::max(n, 0.0));
  const double grown = std::log(std::max(1.0, n / std::max(sample, 1.0)));
  const double doubt = std::hypot(dims_doubt, drift_doubt * grown);
  const auto moved_by = [&](double more) {
    SkylineGrowth moved = *this;
    moved.dims = std::max(dims + more, 1.0);
    return moved.rows(n);
  };
  const double expected = rows(n);
  return min(Cardinality::around(moved_by(-doubt), expected, moved_by(doubt)), n);
}

double SkylineGrowth::exponent(double n) const {
  if (n <= 2) return 0;
  return std::log2(rows(n) / rows(n / 2));
}

// An order is only a tendency, and 8 of its powers count, so its error is taken as that of a correlation.
Statistics at_high(Statistics statistics) {
  const auto size = static_cast<double>(statistics.sample);
  const ShareBounds ties = bounds_of_share(statistics.ties, size);
  statistics.at_high = true;
  statistics.order = std::max(-1.0, statistics.order - (size > 0 ? 2 / std::sqrt(size) : 1));
  statistics.ties = std::min(statistics.ties, ties.low);
  if (statistics.ahead > 0) statistics.ahead = std::max(statistics.ahead, bounds_of_share(statistics.ahead, size).high);
  // A sample of those that pass was drawn from so many more.
  if (size > 0 && statistics.selectivity < 1) {
    const ShareBounds passing = bounds_of_share(statistics.selectivity, size / statistics.selectivity);
    statistics.selectivity = std::min(statistics.selectivity, passing.low);
  }
  return statistics;
}

double skyline_rows(const kernels::SkylineShape& shape, const Statistics& statistics) {
  if (statistics.at_high) return bounded_skyline_rows(shape, statistics).high;
  if (statistics.level_rows > 0) return std::min(statistics.level_rows, static_cast<double>(shape.n));
  if (statistics.sample == 0) return expected_skyline(shape.n, shape.d);
  return statistics.growth.rows(static_cast<double>(shape.n));
}

Cardinality bounded_skyline_rows(const kernels::SkylineShape& shape, const Statistics& statistics) {
  constexpr double kLevelDoubt = 4;  // levels differ from each other more than samples do
  const auto n = static_cast<double>(shape.n);
  const double least = std::min(n, 1.0);
  if (statistics.level_rows > 0) {
    const double rows = statistics.level_rows;
    return min(Cardinality::around(std::max(rows / kLevelDoubt, 1.0), rows, rows * kLevelDoubt), n);
  }
  if (statistics.sample == 0) return Cardinality::around(least, expected_skyline(shape.n, shape.d), n);
  return statistics.growth.bounded_rows(n);
}

double level_rows_below(const kernels::SkylineShape& shape, const Statistics& first, double level_above) {
  constexpr std::size_t kMinRows = 2048;
  constexpr double kLarger = 2;
  if (shape.n < kMinRows || level_above < 1) return 0;
  const double rows = std::exp2(std::ceil(std::log2(level_above)));  // so that many levels need few choices
  return rows > kLarger * skyline_rows(shape, first) ? rows : 0;
}

double surviving_share(const kernels::SkylineShape& shape, const Statistics& statistics) {
  if (statistics.sample > 0) return statistics.survivors;
  return shape.n == 0 ? 1 : std::sqrt(skyline_rows(shape, statistics) / static_cast<double>(shape.n));
}

}  // namespace skyrank::planner
