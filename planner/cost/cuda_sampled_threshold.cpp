#include <algorithm>
#include <cmath>

#include "kernels/cuda/topk/threshold_plan.hpp"
#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {
namespace {

/// Rows that the sample's threshold lets through, roughly: enough for k with near certainty, if as many `pass`.
double candidates(double n, double k, double passing) {
  constexpr double kMostSampled = 131072;
  const double step = std::max(std::max(1024.0, n / kMostSampled), k / 512);  // rows for each sampled one
  return std::min(passing, k + 4.3 * std::sqrt(k * step) + 3 * step);
}

/// How often a scan that looks at scores first looks on: at rows at or below the threshold, whether they pass or not.
struct SecondLooks {
  double tiles = 0;  ///< of a warp, which have such a row
  double bytes = 0;  ///< of columns that are no part of the score, by the pieces that memory is read in
};

/// Rows that pass are taken to have scores as good as others have, and a filter to be one of other columns than the
/// score's, where it reads any; else it has been looked at with the score.
SecondLooks second_looks(double n, double kept, const Statistics& statistics) {
  constexpr double kTileBytes = 2048;  // of the score's columns that a warp has under way
  constexpr double kSector = 32;
  if (statistics.scanned == 0) return {};
  const double scored = statistics.scored > 0 ? statistics.scored : statistics.scanned;
  const double elsewhere = statistics.scanned - scored;
  const double passing = elsewhere > 0 ? n * statistics.selectivity : n;
  const double wanted = kept < passing ? kept / passing : 1;
  const double tile = kTileBytes / scored;  // rows
  const double sector = elsewhere > 0 ? std::max(1.0, kSector / elsewhere) : 1;
  return {.tiles = n / tile * -std::expm1(-wanted * tile), .bytes = n * elsewhere * (1 - std::pow(1 - wanted, sector))};
}

/// Elements of temporary memory: where many are wanted, and where columns are scanned where many are kept, candidates
/// go to bins with room for many times as many as are expected, and at least for some in each; otherwise to a list, and
/// from there to buckets. A scan has a list besides, and narrow keys' candidates go through one.
double room_for(const kernels::TopKShape& shape, double kept, bool scans) {
  constexpr double kTimesBeyond = 2.5;  // elements that their bins have no room for, and where those lie
  constexpr double kTimesInBins = 8.5;
  constexpr double kLeastInBins = 32;
  constexpr double kTimesInList = 4;
  constexpr double kLeastBinned = 4096;
  constexpr double kMostLeastBytes = 16 * 1024;  // of elements that are found by the minima of groups
  const double listed = scans ? kTimesInList * kept : key_bytes(shape) < 4 ? 1.25 * kept : 0;  // before bins
  const bool many = wanted(shape) * element_bytes(shape) > kMostLeastBytes || wanted(shape) > kept / 2;
  const bool binned = (scans || many) && kept > kLeastBinned && kept <= static_cast<double>(kernels::cuda::kMostBinned);
  if (!binned) return kTimesInList * kept;
  constexpr double kBins = kernels::cuda::kBins;
  const double clustered = std::min(static_cast<double>(kernels::cuda::kTimesClustered) * kept,
                                    static_cast<double>(kernels::cuda::kMostClustered) * kBins);
  return std::max(kTimesInBins * kept, clustered) + kLeastInBins * kBins + kTimesBeyond * kept + listed;
}

}  // namespace

Cost cuda_sampled_threshold(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/,
                            const Values& /*values*/) {
  const double n = static_cast<double>(shape.n);
  const bool scans = statistics.scanned > 0;
  const double kept = candidates(n, wanted(shape), scans ? n * statistics.selectivity : n);
  // Narrow keys are read as they lie, and a scan reads columns, making keys on the way.
  const double keys = shape.widths.size() > 1 ? packed_bytes(shape) : std::min(packed_bytes(shape), key_bytes(shape));
  const double read = !scans ? keys : statistics.scored > 0 ? statistics.scored : statistics.scanned;
  const SecondLooks looks = second_looks(n, kept, statistics);
  return cuda_cost(shape, statistics,
                   {.launches = 3,
                    .bytes = read * n,
                    .elements = room_for(shape, kept, scans),
                    .widens = false,
                    .scans = true,
                    .other = {{"select", 1, 8e-6},  // the threshold from the sample
                              {"candidates", kept * element_bytes(shape), 8 * kCudaByte},
                              {"second-looks", looks.tiles, 0.13e-9},
                              {"filter-bytes", looks.bytes, kCudaByte}}});
}

}  // namespace skyrank::planner::cost
