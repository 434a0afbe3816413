#include <algorithm>

#include "planner/cost/cuda_common.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {

namespace {

/// Bytes moved to sort n values of some bytes by digits of 8 bits, and to pass over the keys before or after.
double sorted_bytes(double n, double bytes, double digits) {
  // How far CUB's radix sort stays behind the memory's rate: the less, the wider what it scatters.
  const double behind = bytes > 4 ? 2.05 : 2.7;
  return 2 * n * (behind * bytes + 1) * digits;
}

}  // namespace

// Keys alone are sorted, or elements where k is more than an eighth of the rows; there the time falls when rows are
// added, the prediction stays.
Cost cuda_sort(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/,
               const Values& /*values*/) {
  constexpr double kSmallPart = 8;
  const double n = static_cast<double>(shape.n);
  const double digits = packed_bytes(shape);
  const double whole = std::min(n, kSmallPart * wanted(shape));
  const double moved =
      std::max(sorted_bytes(n, packed_bytes(shape), digits), sorted_bytes(whole, element_bytes(shape), digits));
  return cuda_cost(shape, statistics, {.launches = 4 * digits, .bytes = moved, .elements = n + 2 * whole, .other = {}});
}

}  // namespace skyrank::planner::cost
