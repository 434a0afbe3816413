#pragma once

#include <cstddef>

// How the sampled-threshold path sizes its samples. Plain arithmetic, for the host.
namespace skyrank::kernels::cuda {

/// The least r such that a Poisson variable of mean `mean` is r or more with a probability of at most `risk`
/// (0 < risk < 1). From a mean of 1,000 on by the normal approximation, rounded up.
std::size_t poisson_quantile(double mean, double risk);

/// Two samples and a scan. The first sample, which one block holds, gives a bound that leaves little of the second,
/// which is large. The element of rank `rank` in the second is the threshold; the scan keeps what lies at or below it.
struct ThresholdPlan {
  std::size_t first_sample = 0;
  std::size_t first_rank = 0;  ///< from 1, as are all ranks
  std::size_t sample = 0;      ///< rows in the second sample
  std::size_t rank = 0;
  std::size_t expected = 0;  ///< candidates that the scan keeps, in the mean
  std::size_t capacity = 0;  ///< more are kept only with a probability near the risk
};

/// Rows in the first sample: one for each thread of a block.
inline constexpr std::size_t kFirstSample = 1024;
/// Elements of the second sample that the first one's bound may leave; it leaves more with a chance below 1e-7.
inline constexpr std::size_t kLeftOfSample = 16384;

/// For the k best of n rows, 0 < k <= n / 4. The chance that the threshold keeps fewer than k, or more than `capacity`,
/// is about 1e-7 each.
ThresholdPlan plan_threshold(std::size_t n, std::size_t k);

}  // namespace skyrank::kernels::cuda
