#include "planner/facts/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "kernels/common/problem.hpp"

namespace skyrank::planner {
namespace {

constexpr double kGamma[] = {1, 0.5772, 0.9891, 0.9075, 0.9817, 0.9820, 0.9931};  // of Gamma(1 - z), then nearly 1
constexpr int kGammas = std::size(kGamma);

// The expectation is the coefficient of z^(d-1) in the product of 1/(1 - z/i) over i = 1..n (Buchta, "On the average
// number of maxima in a set of vectors", 1989, as a generating function), which is close to n^z Gamma(1 - z). Its
// leading term is the well-known ln(n)^(d-1) / (d-1)!, too small by a third already at n = 10^6, d = 8.
double of_whole_dims(double n, int d) {
  const double log_n = std::log(n);
  double power = 1;  // ln(n)^j / j!
  double rows = 0;
  for (int j = 0; j < d; ++j) {
    if (j > 0) power *= log_n / j;
    const int other = d - 1 - j;
    rows += power * (other < kGammas ? kGamma[other] : 1.0);
  }
  return std::clamp(rows, 1.0, n);
}

}  // namespace

double skyline_of_dims(double n, double dims) {
  if (n <= 1) return std::max(n, 0.0);
  const int whole = static_cast<int>(dims);
  const double part = dims - whole;
  const double below = of_whole_dims(n, whole);
  return part == 0 ? below : below * std::pow(of_whole_dims(n, whole + 1) / below, part);
}

double expected_skyline(std::size_t n, std::size_t d) {
  return d == 0 ? 0 : skyline_of_dims(static_cast<double>(n), static_cast<double>(d));
}

// Between whole dimensions the logarithm of the skyline is linear, as in skyline_of_dims. One more dimension adds a
// power to the sum of of_whole_dims and moves the factors of the last few.
double effective_dims(double n, double skyline) {
  const double log_n = std::log(n);
  double power[kernels::kMaxDims] = {1};
  double rest = 0;  // of powers whose factor is 1
  double below = 1;
  for (int whole = 1; whole < static_cast<int>(kernels::kMaxDims); ++whole) {
    power[whole] = power[whole - 1] * log_n / whole;
    if (whole >= kGammas) rest += power[whole - kGammas];
    double above = rest;
    for (int i = 0; i < std::min(whole + 1, kGammas); ++i) above += power[whole - i] * kGamma[i];
    above = std::clamp(above, 1.0, n);
    if (above >= skyline) return whole + (skyline > below ? std::log(skyline / below) / std::log(above / below) : 0);
    below = above;
  }
  return kernels::kMaxDims;
}

}  // namespace skyrank::planner
