#include <cmath>

#include "planner/cost/cuda_selection.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost cuda_randomized(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/) {
  constexpr double kGuesses = 1.2;      // at the default probability of 80 %
  constexpr double kSortPasses = 20;    // over the splitters, and over the middle bin
  constexpr double kSortLaunches = 20;  // of both sorts
  const double n = static_cast<double>(shape.n);
  const double k = std::min(n, static_cast<double>(shape.k));
  const double part = n > 0 ? std::min(0.5, k / n) : 0;
  const double splitters = 8 * std::sqrt(n);
  // Buckets of the middle bin: 1.28 standard deviations to either side hold 80 %.
  const double buckets = 1 + 2 * 1.28 * std::sqrt(splitters * part * (1 - part));
  const double middle = splitters > 0 ? n / splitters * buckets : 0;
  const double moved =
      (kGuesses + 1) * n * packed_bytes(shape) + (kSortPasses * (splitters + middle) + 2 * k) * element_bytes(shape);
  return cuda_cost(shape, statistics,
                   {.launches = kSortLaunches + kGuesses + 3,
                    .bytes = moved + taking_bytes(shape),
                    .elements = 2 * middle + k,
                    .other = {{"waits", kGuesses, 15e-6}}});  // of the host for the outcome of a guess
}

}  // namespace skyrank::planner::cost
