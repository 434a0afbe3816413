#include "kernels/papers/cuda/topk/randomized_select/pivots.hpp"

#include <algorithm>
#include <cmath>

namespace skyrank::kernels::cuda::topk {

std::size_t splitter_count(std::size_t n) {
  return static_cast<std::size_t>(std::ceil(8 * std::sqrt(static_cast<double>(n))));
}

double bucket_probability(std::size_t splitters, std::size_t i, double p) {
  const auto all = static_cast<double>(splitters);
  const auto below = static_cast<double>(i);
  const double combinations = std::lgamma(all + 1) - std::lgamma(below + 1) - std::lgamma(all - below + 1);
  return std::exp(combinations + below * std::log(p) + (all - below) * std::log1p(-p));
}

PivotPair likely_pivots(std::size_t n, std::size_t k, std::size_t splitters, double wished) {
  const double p = static_cast<double>(k) / static_cast<double>(n);
  const auto all = static_cast<double>(splitters);
  const double odds = p / (1 - p);
  const auto likeliest = std::min(splitters, static_cast<std::size_t>(p * (all + 1)));
  // Neighbours follow from their ratio: (i + 1 of all) is (i of all) times (all - i) / (i + 1) times the odds.
  auto low = static_cast<double>(likeliest);
  auto high = low;
  double of_low = bucket_probability(splitters, likeliest, p);
  double of_high = of_low;
  double sum = of_low;
  while (sum < wished && (low > 0 || high < all)) {
    of_low *= low / (all - low + 1) / odds;
    of_high *= (all - high) / (high + 1) * odds;
    low = std::max(low - 1, 0.0);
    high = std::min(high + 1, all);
    sum += of_low + of_high;
  }
  return {static_cast<std::ptrdiff_t>(low) - 1, static_cast<std::ptrdiff_t>(high)};
}

PivotPair shifted_down(const PivotPair& pivots) {
  return {std::max<std::ptrdiff_t>(-1, pivots.low - (pivots.high - pivots.low)), pivots.low};
}

PivotPair shifted_up(const PivotPair& pivots, std::size_t splitters) {
  const auto end = static_cast<std::ptrdiff_t>(splitters);
  return {pivots.high, std::min(end, pivots.high + (pivots.high - pivots.low))};
}

}  // namespace skyrank::kernels::cuda::topk
