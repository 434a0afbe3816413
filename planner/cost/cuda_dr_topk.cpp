#include <algorithm>
#include <cmath>

#include "kernels/cuda/topk/subrange.hpp"
#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

// Equation 6 of dr-topk-sc21 at its best subrange size, in bytes: its first term reads the keys, the others move
// elements, which are twice as large. Its factors are those of an H200: what finding a subrange's delegates costs
// beside reading its keys, and each element of the
// subranges that are read again, and each that is chosen.
Cost cuda_dr_topk(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/) {
  namespace dr = kernels::cuda::topk::delegate;
  constexpr double kLaunches = 14;
  constexpr double kOfSubrange = 10;
  constexpr double kOfChosen = 27;
  const double n = std::max(1.0, static_cast<double>(shape.n));
  const double k = std::clamp(static_cast<double>(shape.k), 1.0, n);
  const double length =
      std::exp2(std::clamp<double>(dr::best_exponent(n, k), dr::kLeastExponent, dr::kGreatestExponent));
  const double delegates = kOfSubrange * n / length + k * length + kOfChosen * k;
  const double with = n * packed_bytes(shape) + delegates * element_bytes(shape);
  const double without = (dr::radix_cost(n, k) + n) * packed_bytes(shape);
  return cuda_cost(
      shape, statistics,
      {.launches = kLaunches, .bytes = k <= n / 16 ? with : without, .elements = 2 * n / length + k, .other = {}});
}

}  // namespace skyrank::planner::cost
