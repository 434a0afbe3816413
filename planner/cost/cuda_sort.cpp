#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

double cuda_sort(const kernels::TopKShape& shape, const Machine& /*machine*/) {
  const double digits = packed_bytes(shape);  // of 8 bits, each one read and one write of key and row id
  const double moved = 2 * (packed_bytes(shape) + 8);
  return cuda_overhead(shape) + 4 * kCudaLaunch * digits + kCudaByte * moved * digits * static_cast<double>(shape.n);
}

}  // namespace skyrank::planner::cost
