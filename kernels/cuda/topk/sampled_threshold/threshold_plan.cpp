#include "kernels/cuda/topk/sampled_threshold/threshold_plan.hpp"

#include <algorithm>
#include <cmath>

namespace skyrank::kernels::cuda::topk {
namespace {

using Policy = SamplePolicy;

/// Rows that a block samples.
std::size_t rows_of_block(std::size_t sample) {
  if (sample <= kMaxOfBlock) return kMaxOfBlock;
  return sample <= Policy::kRowsOfBlock * Policy::kEnoughBlocks ? Policy::kRowsOfBlock : 2 * Policy::kRowsOfBlock;
}

double with_room(double mean) { return mean + Policy::kSpread * std::sqrt(mean) + 12; }

/// Bins begin where sectors of memory do.
std::size_t whole_sectors(std::size_t elements) {
  constexpr std::size_t kElements = 32;
  return (elements + kElements - 1) / kElements * kElements;
}

}  // namespace

std::size_t poisson_quantile(double mean, double risk) {
  constexpr double kNormal = 1000;
  if (mean >= kNormal) {
    // The tail of the normal distribution is below exp(-z * z / 2) / 2.
    const double z = std::sqrt(std::max(0.0, -2 * std::log(2 * risk)));
    return static_cast<std::size_t>(std::ceil(mean + z * std::sqrt(mean))) + 1;
  }
  double term = std::exp(-mean);  // of the value r
  double below = 0;               // probability of less than r
  std::size_t r = 0;
  while (1 - below > risk && static_cast<double>(r) < mean + 100 + 10 * std::sqrt(mean)) {
    below += term;
    ++r;
    term *= mean / static_cast<double>(r);
  }
  return r;
}

ThresholdPlan plan_threshold(std::size_t n, std::size_t k) {
  ThresholdPlan plan;
  const double share = static_cast<double>(k) / static_cast<double>(n);
  const auto rank_limited = static_cast<std::size_t>(static_cast<double>(Policy::kMaxRank) / share);
  const std::size_t wanted = std::min(n / Policy::kRowsOfSampled, rank_limited);
  // One block does not wait for another, which saves more than a threshold that keeps more candidates costs.
  const std::size_t least = n / Policy::kRowsOfSampled < 2 * kMaxOfBlock ? kMaxOfBlock : 2 * kMaxOfBlock;
  const std::size_t all = std::clamp(wanted / kMaxOfBlock * kMaxOfBlock, least, Policy::kMaxSampled);
  plan.rows = rows_of_block(all);
  plan.blocks = all / plan.rows;
  const auto sample = static_cast<double>(all);
  plan.rank = std::max(Policy::kMinRank, poisson_quantile(share * sample, Policy::kRisk));
  plan.group = plan.rows;
  while (plan.group > 2 && all / plan.group < Policy::kGroupsOfRank * plan.rank) plan.group /= 2;
  // Elements below the threshold that are not the least of their group, in the mean.
  const auto rank = static_cast<double>(plan.rank);
  const double shared = rank * rank * static_cast<double>(plan.group) / (2 * sample);
  const double step = static_cast<double>(n) / sample;
  plan.expected = std::min(n, static_cast<std::size_t>((rank + shared) * step));
  plan.capacity = std::min(n, static_cast<std::size_t>(with_room(rank + shared) * step) + 1);
  return plan;
}

BinPlan plan_bins(const ThresholdPlan& plan) {
  // Between two elements of a sample there may be several times as many as in the mean, and in clusters of keys many
  // more: room that no element comes to is never touched.
  constexpr std::size_t kTimesMean = 8;
  constexpr std::size_t kStep = 32;
  constexpr std::size_t kFewCandidates = std::size_t{8} * kFewBins;
  // Twice as wide as the others, half of the low bins are enough for so many intervals' elements.
  constexpr unsigned kLowIntervals = 4;
  constexpr std::size_t kFewRanks = 32;  // of which there may be far more candidates than in the mean
  BinPlan bins;
  bins.count = plan.expected <= kFewCandidates ? kFewBins : kBins;
  bins.knots = static_cast<unsigned>(std::min<std::size_t>(plan.rank, kMaxKnots));
  bins.low_bins = std::max(kLowBins, bins.count * kLowIntervals / (bins.knots + kLowIntervals));
  bins.width = (bins.count - bins.low_bins) / bins.knots;
  const std::size_t used = std::size_t{bins.knots} * bins.width;
  const std::size_t least = kTimesMean * plan.expected / used;
  const std::size_t clustered =
      std::min(Policy::kTimesClustered * plan.expected / (bins.count - kLowBins), Policy::kMaxClustered);
  bins.room = static_cast<unsigned>((std::max(least, clustered) / kStep + 1) * kStep);
  bins.beyond = static_cast<unsigned>(plan.rank < kFewRanks ? plan.capacity : plan.expected);
  return bins;
}

KeptPlan plan_kept(const ThresholdPlan& plan) {
  // A list takes longer, even where few of it are wanted, unless it is short.
  const bool pays = plan.expected > Policy::kMinBinned;
  if (pays && plan.expected <= Policy::kMaxBinned) return {.bins = plan_bins(plan), .listed = 0};
  return {.bins = {}, .listed = whole_sectors(plan.capacity)};
}

KeptPlan plan_kept_of_scan(const ThresholdPlan& plan) {
  // A low rank of the sample may have many more rows below it than expected.
  constexpr std::size_t kMinBinnedRank = 6;
  KeptPlan kept{.bins = {}, .listed = whole_sectors(plan.capacity)};
  if (plan.rank < kMinBinnedRank || plan.expected <= Policy::kMinBinnedOfScan || plan.expected > Policy::kMaxBinned)
    return kept;
  kept.bins = plan_bins(plan);
  // All may have one key, or nearly; there are few.
  kept.bins.beyond = static_cast<unsigned>(plan.capacity);
  return kept;
}

std::size_t elements_kept(const ThresholdPlan& plan, const KeptPlan& kept) {
  const BinPlan& bins = kept.bins;
  return kept.listed + plan.groups() + (bins.some() ? kRoomForKnots + bins.in_bins() + bins.beyond : 0);
}

std::size_t bytes_kept(const ThresholdPlan& plan, const KeptPlan& kept, std::size_t element_bytes) {
  const std::size_t sizes = kept.bins.some() ? kSizesOfBins * sizeof(unsigned) : 0;
  return elements_kept(plan, kept) * element_bytes + sizes + kept.bins.beyond * kPlaceBytes;
}

}  // namespace skyrank::kernels::cuda::topk
