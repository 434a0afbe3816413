#pragma once

#include <cstddef>

#include "kernels/common/host_device.hpp"
#include "kernels/cuda/topk/sampled_threshold/policy.hpp"

// How the sampled-threshold path sizes its samples, and what it keeps candidates in. Plain arithmetic, for the host.
namespace skyrank::kernels::cuda::topk {

/// The least r such that a Poisson variable of mean `mean` is r or more with a probability of at most `risk`
/// (0 < risk < 1). From a mean of 1,000 on by the normal approximation, rounded up.
std::size_t poisson_quantile(double mean, double risk);

/// A sample and a scan. Each block takes a part of the sample and hands on the minima of groups of it; the element of
/// rank `rank` among those is the threshold. It lies a little above that of the same rank in the whole sample.
struct ThresholdPlan {
  std::size_t blocks = 0;
  std::size_t rows = 0;      ///< rows that each block samples, a power of two up to kMaxOfBlock
  std::size_t group = 0;     ///< sampled rows, a power of two from 2 to `rows`
  std::size_t rank = 0;      ///< from 1, at most as many as there are groups
  std::size_t expected = 0;  ///< candidates that the scan keeps, in the mean
  std::size_t capacity = 0;  ///< more are kept only with a probability below 1e-5

  std::size_t sample() const { return blocks * rows; }
  std::size_t groups() const { return sample() / group; }
};

inline constexpr std::size_t kMaxOfBlock = SamplePolicy::kMaxRowsOfBlock;

/// For the k best of n rows, 0 < k <= n / 4, n >= 2 * kMaxOfBlock. The chance that the threshold keeps fewer than k
/// is at most 1e-5: a second, slower answer once in so many problems costs less than more candidates in each.
ThresholdPlan plan_threshold(std::size_t n, std::size_t k);

inline constexpr unsigned kBins = 8192;
/// For few candidates, so that a bin has room for more that have one key.
inline constexpr unsigned kFewBins = 2048;
/// Bins below the least knot, at least. Nothing tells how far down the keys go: their widths grow with the distance
/// from that knot, eight of a width and then eight of twice that; of 64-bit keys half of them are equal
/// before. Where there are few knots, more of the candidates lie below all of them, and so do more bins.
inline constexpr unsigned kLowBins = 512;
/// One less than a power of two, by which a search halves them: a block of 128-bit elements has its knots and what else
/// it knows of them in 2 KiB.
inline constexpr unsigned kMaxKnots = 127;
inline constexpr unsigned kRoomForKnots = kMaxKnots + 1;  ///< keeps the data behind the knots aligned
/// Index of a bin's counter; kBins is the counter of elements beyond all bins. Counters lie in every other 64 bytes,
/// because the L2 cache takes 5 ns for each count in a line of 128.
SKYRANK_HD constexpr unsigned place_of_size(unsigned bin) {
  constexpr unsigned kTogether = 16;
  constexpr unsigned kLine = 32;
  return bin / kTogether * kLine + bin % kTogether;
}
inline constexpr std::size_t kSizesOfBins = place_of_size(kBins) + 1;
inline constexpr std::size_t kPlaceBytes = 8;  ///< an element beyond its bin: its bin, and its place there

/// How candidates are kept in bins (bins.cuh). There are none where there are no knots.
struct BinPlan {
  unsigned count = 0;     ///< kBins or kFewBins
  unsigned knots = 0;     ///< knots of the sample, the threshold included
  unsigned width = 0;     ///< bins of the interval that ends at a knot
  unsigned low_bins = 0;  ///< bins below the least knot
  unsigned room = 0;      ///< elements in each bin
  unsigned beyond = 0;    ///< elements that their bins have no room for

  bool some() const { return knots > 0; }
  std::size_t in_bins() const { return std::size_t{count} * room; }
};

/// plan.expected <= SamplePolicy::kMaxBinned.
BinPlan plan_bins(const ThresholdPlan& plan);

/// The places where a scan keeps candidates: bins, a list, or both.
struct KeptPlan {
  BinPlan bins = {};
  std::size_t listed = 0;  ///< elements that the list has room for, rounded up to whole sectors of memory
};

/// Plans for candidates among keys in memory.
KeptPlan plan_kept(const ThresholdPlan& plan);

/// Plans for candidates among rows whose keys a scan makes.
KeptPlan plan_kept_of_scan(const ThresholdPlan& plan);

/// Elements of temporary memory: the list, the minima of the sample's groups, knots, bins, and what is beyond these.
std::size_t elements_kept(const ThresholdPlan& plan, const KeptPlan& kept);

/// Bytes of temporary memory: those elements, of so many bytes each, the sizes of bins, and the places of what is
/// beyond them.
std::size_t bytes_kept(const ThresholdPlan& plan, const KeptPlan& kept, std::size_t element_bytes);

}  // namespace skyrank::kernels::cuda::topk
