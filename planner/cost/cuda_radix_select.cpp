#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

double cuda_radix_select(const kernels::TopKShape& shape, const Machine& /*machine*/) {
  const double n = static_cast<double>(shape.n);
  const double k = std::min(n, static_cast<double>(shape.k));
  // All keys are counted by their leading digit, and once more by the next one, as the bucket with the k-th is cut
  // out; what is left by then is a small part of them. Of floats the leading digit is mostly exponent: it cuts little,
  // and all keys are read once more.
  const double passes = packed_bytes(shape) + 4;  // digits of a key and of a row id
  const double moved = 3 * n * packed_bytes(shape) + (n / 64 + k) * element_bytes(shape);
  return cuda_overhead(shape) + passes * kCudaLaunch + kCudaByte * moved;
}

}  // namespace skyrank::planner::cost
