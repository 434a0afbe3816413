#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost cuda_sort(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/) {
  const double n = static_cast<double>(shape.n);
  const double digits = packed_bytes(shape);  // of 8 bits, each one read and one write of key and row id
  const double moved = 2 * (packed_bytes(shape) + 8);
  return cuda_cost(shape, statistics,
                   {.launches = 4 * digits, .bytes = moved * digits * n, .elements = 2 * n, .other = {}});
}

}  // namespace skyrank::planner::cost
