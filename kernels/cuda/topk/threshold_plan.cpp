#include "kernels/cuda/topk/threshold_plan.hpp"

#include <algorithm>
#include <cmath>

namespace skyrank::kernels::cuda {
namespace {

constexpr double kRisk = 1e-7;
/// Of the first sample alone: its bound may be a little too low, since the second sample's own bound is then taken from
/// what is left, at a small cost.
constexpr double kFirstRisk = 1e-6;
constexpr double kSpread = 5.2;  // standard deviations that a normal variable exceeds with kRisk
/// Rank up to which a larger sample makes the threshold tighter at a price worth paying.
constexpr std::size_t kMostRank = 512;
constexpr std::size_t kLeastSample = std::size_t{1} << 12;
constexpr std::size_t kMostSample = std::size_t{1} << 18;
constexpr std::size_t kRowsOfSampled = 1024;  // one row in so many is looked at

double exceeded_with_risk(double mean) { return mean + kSpread * std::sqrt(mean) + 12; }

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
  const auto rank_limited = static_cast<std::size_t>(static_cast<double>(kMostRank) / share);
  plan.sample = std::min(
      {std::clamp(n / kRowsOfSampled, kLeastSample, kMostSample), std::max(rank_limited, 2 * kFirstSample), n});
  plan.rank = poisson_quantile(share * static_cast<double>(plan.sample), kRisk);
  const double step = static_cast<double>(n) / static_cast<double>(plan.sample);
  plan.expected = std::min(n, static_cast<std::size_t>(static_cast<double>(plan.rank) * step));
  plan.capacity = std::min(n, static_cast<std::size_t>(exceeded_with_risk(static_cast<double>(plan.rank)) * step) + 1);
  plan.first_sample = std::min(kFirstSample, n);
  const double sampled_share = static_cast<double>(plan.rank) / static_cast<double>(plan.sample);
  plan.first_rank =
      std::min(plan.first_sample, poisson_quantile(sampled_share * static_cast<double>(plan.first_sample), kFirstRisk));
  return plan;
}

}  // namespace skyrank::kernels::cuda
