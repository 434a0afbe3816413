#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

double cuda_sampled_threshold(const kernels::TopKShape& shape, const Machine& /*machine*/) {
  constexpr double kSelect = 15e-6;  // the threshold from the sample, and the k least candidates
  const double n = static_cast<double>(shape.n);
  const double k = std::min(n, static_cast<double>(shape.k));
  // Candidates are sorted; from a quarter of the rows on, all rows are.
  const double sorted = std::min(n, 4 * k);
  return cuda_overhead(shape) + 5 * kCudaLaunch + kSelect + kCudaByte * packed_bytes(shape) * n +
         kCudaByte * 24 * packed_bytes(shape) * sorted;
}

}  // namespace skyrank::planner::cost
