#include <algorithm>
#include <cmath>

#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {
namespace {

/// Rows that the sample's threshold lets through, roughly: enough for k with near certainty.
double candidates(double n, double k) {
  constexpr double kMostSampled = 131072;
  const double step = std::max(std::max(1024.0, n / kMostSampled), k / 512);  // rows for each sampled one
  return std::min(n, k + 4.3 * std::sqrt(k * step) + 3 * step);
}

}  // namespace

Cost cuda_sampled_threshold(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/,
                            const Values& /*values*/) {
  const double n = static_cast<double>(shape.n);
  const double kept = candidates(n, wanted(shape));
  // Narrow keys are read as they lie, and a scan reads columns, making keys on the way.
  const double keys = shape.widths.size() > 1 ? packed_bytes(shape) : std::min(packed_bytes(shape), key_bytes(shape));
  const double read = statistics.scanned > 0 ? statistics.scanned : keys;
  return cuda_cost(shape, statistics,
                   {.launches = 3,
                    .bytes = read * n,
                    .elements = 4 * kept,
                    .widens = false,
                    .other = {{"select", 1, 8e-6},  // the threshold from the sample
                              {"candidates", kept * element_bytes(shape), 8 * kCudaByte}}});
}

}  // namespace skyrank::planner::cost
