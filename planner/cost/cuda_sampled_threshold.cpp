#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cuda/topk/in_order/order_plan.hpp"
#include "kernels/cuda/topk/sampled_threshold/threshold_plan.hpp"
#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {
namespace {

/// Rows that the sample's threshold lets through, roughly: enough for k with near certainty, if as many `pass`.
double candidates(double n, double k, double passing) {
  constexpr double kMaxSampled = 131072;
  const double step = std::max(std::max(1024.0, n / kMaxSampled), k / 512);  // rows for each sampled one
  return std::min(passing, k + 4.3 * std::sqrt(k * step) + 3 * step);
}

/// How often a scan that looks at scores first looks on: at rows at or below the threshold, whether they pass or not.
struct SecondLooks {
  double tiles = 0;  ///< tiles of a warp that have such a row
  double bytes = 0;  ///< bytes of columns outside the score, in the units in which memory is read
};

/// Assumes that rows that pass have scores like all others, and that the filter reads columns outside the score if
/// there are any; otherwise it was evaluated with the score.
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

/// Bytes of temporary memory: of what the scan keeps, and of the buckets that put a long list in order.
double temporary_bytes(const kernels::TopKShape& shape, double kept, bool scans) {
  constexpr double kTimesInList = 4;  // of few rows, and of an algorithm that does not guess
  constexpr double kTimesInBuckets = 4.25;
  const bool wide = shape.n > std::numeric_limits<std::uint32_t>::max() || packed_bytes(shape) == 8;
  const std::size_t element = wide ? 16 : 8;
  const std::size_t k = std::min(shape.n, shape.k);
  if (shape.n <= kernels::cuda::topk::kMaxCounted || k == 0 || k > shape.n / 4) {
    return kTimesInList * kept * static_cast<double>(element);
  }
  const auto plan = kernels::cuda::topk::plan_threshold(shape.n, k);
  const auto where = scans ? kernels::cuda::topk::plan_kept_of_scan(plan) : kernels::cuda::topk::plan_kept(plan);
  const bool buckets = !where.bins.some() && kernels::cuda::topk::is_distributed(plan.expected);
  const double sorted = buckets ? kTimesInBuckets * static_cast<double>(plan.expected) : 0;
  return static_cast<double>(kernels::cuda::topk::bytes_kept(plan, where, element)) +
         sorted * static_cast<double>(element) + static_cast<double>(k * sizeof(kernels::RowId));
}

}  // namespace

Cost cuda_sampled_threshold(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/,
                            const Values& /*values*/) {
  const double n = static_cast<double>(shape.n);
  const bool scans = statistics.scanned > 0;
  const double kept = candidates(n, wanted(shape), scans ? n * statistics.selectivity : n);
  // Narrow keys are read without packing. A scan reads columns, and makes keys in registers.
  const double keys = shape.widths.size() > 1 ? packed_bytes(shape) : std::min(packed_bytes(shape), key_bytes(shape));
  const double read = !scans ? keys : statistics.scored > 0 ? statistics.scored : statistics.scanned;
  const SecondLooks looks = second_looks(n, kept, statistics);
  return cuda_cost(shape, statistics,
                   {.launches = 3,
                    .bytes = read * n,
                    .elements = temporary_bytes(shape, kept, scans) / element_bytes(shape),
                    .widens = false,
                    .scans = true,
                    .other = {{"select", 1, 8e-6},  // the threshold from the sample
                              {"candidates", kept * element_bytes(shape), 8 * kCudaByte},
                              {"second-looks", looks.tiles, 0.13e-9},
                              {"filter-bytes", looks.bytes, kCudaByte}}});
}

}  // namespace skyrank::planner::cost
