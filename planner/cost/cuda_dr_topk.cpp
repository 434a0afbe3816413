#include <algorithm>

#include "kernels/cuda/topk/subrange.hpp"
#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

// Equation 6 of dr-topk-sc21 at its best subrange size, in bytes: its first term reads the keys, all others move
// elements, which are twice as large. Shuffles are left out: they hide behind the reading.
Cost cuda_dr_topk(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/) {
  namespace dr = kernels::cuda::topk::delegate;
  constexpr double kLaunches = 14;
  const double n = std::max(1.0, static_cast<double>(shape.n));
  const double k = std::clamp(static_cast<double>(shape.k), 1.0, n);
  const double exponent = std::clamp<double>(dr::best_exponent(n, k), dr::kLeastExponent, dr::kGreatestExponent);
  const double delegates = dr::delegate_cost(n, k, exponent, 0) - n;
  const double with = n * packed_bytes(shape) + delegates * element_bytes(shape);
  const double without = (dr::radix_cost(n, k) + n) * packed_bytes(shape);
  return cuda_cost(shape, statistics,
                   {.launches = kLaunches, .bytes = std::min(with, without), .elements = n / 32 + k, .other = {}});
}

}  // namespace skyrank::planner::cost
