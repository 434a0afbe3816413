#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

// Keys alone are sorted, or elements where k is more than an eighth of the rows.
Cost cuda_sort(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/) {
  const double n = static_cast<double>(shape.n);
  const double digits = packed_bytes(shape);  // of 8 bits
  const bool whole = shape.k > shape.n / 8;
  const double bytes = whole ? element_bytes(shape) : packed_bytes(shape);
  // How far CUB's radix sort stays behind the memory's rate: the less, the wider what it scatters.
  const double behind = bytes > 4 ? 2.05 : 2.7;
  const double moved = 2 * n * (behind * bytes + 1) * digits;
  return cuda_cost(shape, statistics,
                   {.launches = 4 * digits, .bytes = moved, .elements = whole ? 3 * n : n, .other = {}});
}

}  // namespace skyrank::planner::cost
