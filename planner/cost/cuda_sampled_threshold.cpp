#include <algorithm>
#include <cmath>

#include "kernels/cuda/topk/threshold_plan.hpp"
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

/// Elements of temporary memory: where many are wanted, candidates go to bins with room for many times as many as
/// are expected, and at least for some in each; otherwise to a list, and from there to buckets.
double room_for(const kernels::TopKShape& shape, double kept) {
  constexpr double kTimesBeyond = 2.5;  // elements that their bins have no room for, and where those lie
  constexpr double kTimesInBins = 8.5;
  constexpr double kLeastInBins = 32;
  constexpr double kTimesInList = 4;
  constexpr double kLeastBinned = 4096;
  constexpr double kMostLeastBytes = 16 * 1024;  // of elements that are found by the minima of groups
  const bool wide_keys = key_bytes(shape) >= 4;
  const bool many = wanted(shape) * element_bytes(shape) > kMostLeastBytes || wanted(shape) > kept / 2;
  const bool binned =
      wide_keys && many && kept > kLeastBinned && kept <= static_cast<double>(kernels::cuda::kMostBinned);
  if (!binned) return kTimesInList * kept;
  constexpr double kBins = kernels::cuda::kBins;
  const double clustered = std::min(static_cast<double>(kernels::cuda::kTimesClustered) * kept,
                                    static_cast<double>(kernels::cuda::kMostClustered) * kBins);
  return std::max(kTimesInBins * kept, clustered) + kLeastInBins * kBins + kTimesBeyond * kept;
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
                    .elements = room_for(shape, kept),
                    .widens = false,
                    .scans = true,
                    .other = {{"select", 1, 8e-6},  // the threshold from the sample
                              {"candidates", kept * element_bytes(shape), 8 * kCudaByte}}});
}

}  // namespace skyrank::planner::cost
