#include "planner/cost/cuda_selection.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost cuda_radix_select(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/) {
  const double n = static_cast<double>(shape.n);
  // All keys are counted by their leading digit, of 11 bits, and once more by the next one, as the bucket with the k-th
  // is cut out; what is left by then is a small part of them.
  const double rounds = 1 + packed_bytes(shape) * 8 / 11 + 3;  // digits of a key and of a row id
  const double left = n / 64 + wanted(shape);
  const double moved = 2.2 * n * packed_bytes(shape) + left * element_bytes(shape);
  return cuda_cost(shape, statistics,
                   {.launches = rounds, .bytes = moved + taking_bytes(shape), .elements = left, .other = {}});
}

}  // namespace skyrank::planner::cost
