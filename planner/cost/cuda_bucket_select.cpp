#include "planner/cost/cuda_selection.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost cuda_bucket_select(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/) {
  const double n = static_cast<double>(shape.n);
  if (shape.k == 1) return cuda_cost(shape, statistics, {.launches = 1, .bytes = n * packed_bytes(shape), .other = {}});
  // All keys are read for their ends, for the first buckets, and to cut one of these out.
  const double left = n / 64 + wanted(shape);
  const double moved = 3.3 * n * packed_bytes(shape) + left * element_bytes(shape);
  return cuda_cost(
      shape, statistics,
      {.launches = packed_bytes(shape) + 6, .bytes = moved + taking_bytes(shape), .elements = left, .other = {}});
}

}  // namespace skyrank::planner::cost
