#include <cmath>
#include <span>
#include <vector>

#include "planner/cost/papers/cuda_selection.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {

namespace {

/// Standard deviations to either side that hold a share of a normal distribution (Abramowitz and Stegun, 26.2.23, which
/// is good for four digits).
double deviations(double share) {
  const double t = std::sqrt(-2 * std::log((1 - share) / 2));
  return t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

}  // namespace

// Section 7 of the paper weighs a guess that fails against a middle bin that is larger than it had to be.
std::span<const Values> cuda_randomized_candidates(const kernels::TopKShape& /*shape*/) {
  static const std::vector<Values> kValues = {
      {{"probability", 80}}, {{"probability", 60}}, {{"probability", 90}}, {{"probability", 97}}};
  return kValues;
}

Cost cuda_randomized(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/,
                     const Values& values) {
  constexpr double kSortPasses = 20;    // over the splitters, and over the middle bin
  constexpr double kSortLaunches = 20;  // of both sorts
  const double probability = value_or(values, "probability", 80) / 100;
  const double guesses = 2 - probability;  // one that fails is followed by a wider one
  const double n = static_cast<double>(shape.n);
  const double k = std::min(n, static_cast<double>(shape.k));
  const double part = n > 0 ? std::min(0.5, k / n) : 0;
  const double splitters = 8 * std::sqrt(n);
  const double buckets = 1 + 2 * deviations(probability) * std::sqrt(splitters * part * (1 - part));
  const double middle = splitters > 0 ? n / splitters * buckets : 0;
  // An answer without order is written as it is found. The rate of "bytes" is fitted to answers that are put in order.
  const bool orders = value_or(values, "ordered", 1) != 0;
  const double moved =
      (guesses + 1) * n * packed_bytes(shape) + (kSortPasses * (splitters + middle) + 2 * k) * element_bytes(shape);
  CudaWork work{.launches = kSortLaunches + guesses + 3,
                .bytes = orders ? moved + taking_bytes(shape) : 0,
                .elements = 2 * middle + k,
                .orders = orders,
                .other = {{"waits", guesses, 15e-6}}};  // of the host for the outcome of a guess
  if (!orders) work.other.push_back({"partition", moved, kCudaByte});
  return cuda_cost(shape, statistics, work);
}

}  // namespace skyrank::planner::cost
