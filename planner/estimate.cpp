#include "planner/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace skyrank::planner {

// The expectation is the coefficient of z^(d-1) in the product of 1/(1 - z/i) over i = 1..n (Buchta, "On the average
// number of maxima in a set of vectors", 1989, as a generating function), which is close to n^z Gamma(1 - z). Its
// leading term is the well-known ln(n)^(d-1) / (d-1)!, too small by a third already at n = 10^6, d = 8.
double expected_skyline(std::size_t n, std::size_t d) {
  if (n == 0 || d == 0) return 0;
  constexpr double kGamma[] = {1, 0.5772, 0.9891, 0.9075, 0.9817, 0.9820, 0.9931};  // of Gamma(1 - z), then nearly 1
  const double log_n = std::log(static_cast<double>(n));
  double power = 1;  // ln(n)^j / j!
  double rows = 0;
  for (std::size_t j = 0; j < d; ++j) {
    if (j > 0) power *= log_n / static_cast<double>(j);
    const std::size_t other = d - 1 - j;
    rows += power * (other < std::size(kGamma) ? kGamma[other] : 1.0);
  }
  return std::clamp(rows, 1.0, static_cast<double>(n));
}

}  // namespace skyrank::planner
