#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

double cuda_bucket_select(const kernels::TopKShape& shape, const Machine& /*machine*/) {
  const double n = static_cast<double>(shape.n);
  const double k = std::min(n, static_cast<double>(shape.k));
  if (shape.k == 1) return cuda_overhead(shape) + kCudaLaunch + kCudaByte * n * packed_bytes(shape);
  // All keys are read for their ends, for the first buckets, and to cut one of these out.
  const double passes = packed_bytes(shape) + 6;
  const double moved = 3.3 * n * packed_bytes(shape) + (n / 64 + k) * element_bytes(shape);
  return cuda_overhead(shape) + passes * kCudaLaunch + kCudaByte * moved;
}

}  // namespace skyrank::planner::cost
