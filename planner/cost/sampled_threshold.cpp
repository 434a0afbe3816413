#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {
double sampled_threshold(const kernels::TopKShape& shape, const Machine& machine) {
  constexpr double kStart = 0.5e-6;
  constexpr double kByte = 0.04e-9;    // of the first key column, which the pass reads
  constexpr double kMade = 0.5e-9;     // a key made on the way
  constexpr double kSampled = 8e-9;    // a row looked up and ordered
  constexpr double kCandidate = 8e-9;  // a row that the pass finds
  constexpr double kPlaces = 2;        // of the sample that the bound is set too high, and its square roots
  constexpr double kSpread = 3.2;
  const double n = static_cast<double>(shape.n);
  const double k = std::min(n, static_cast<double>(shape.k));
  const double sample = std::sqrt(3 * n) + std::cbrt(4 * n * k);
  const double every = n / std::max(sample, 1.0);
  const bool sampled = k < n / 2;
  const double candidates = sampled ? std::min(n, k + kSpread * std::sqrt(k * every) + kPlaces * every) : n;
  const double passes = shape.ties == kernels::TieRule::all ? 2 : 1;
  const double bytes = shape.widths.empty() ? 0 : kernels::bits(shape.widths.front()) / 8.0;
  return kStart + kSampled * std::min(sample, n) +
         passes * (kByte * bytes + (shape.fused ? kMade : 0)) * n / threads_used(n, 32768, machine) +
         kCandidate * candidates / threads_used(candidates, 32768, machine) +
         order_seconds(shape, sampled ? k : n, machine);
}

}  // namespace skyrank::planner::cost
