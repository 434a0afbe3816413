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
  constexpr auto kMostDims = static_cast<double>(kernels::kMaxDims);
  const double grown = std::log(std::max(1.0, n / std::max(sample, 1.0)));
  const double rows = skyline_of_dims(n, std::clamp(dims + drift * grown, 1.0, kMostDims));
  // More rows hardly ever have a smaller skyline.
  const double least = n > sample && drift < 0 ? skyline_of_dims(sample, std::clamp(dims, 1.0, kMostDims)) : 0;
  last = {n, *this, std::max(rows, least)};
  return last.rows;
}

double SkylineGrowth::exponent(double n) const {
  if (n <= 2) return 0;
  return std::log2(rows(n) / rows(n / 2));
}

double skyline_rows(const kernels::SkylineShape& shape, const Statistics& statistics) {
  if (statistics.level_rows > 0) return std::min(statistics.level_rows, static_cast<double>(shape.n));
  if (statistics.sample == 0) return expected_skyline(shape.n, shape.d);
  return statistics.growth.rows(static_cast<double>(shape.n));
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
