#pragma once

#include <cstddef>

// How randomized selection chooses its two pivots (Monroe et al., HPG 2011, sections 5.3, 6.1.2 and 6.2.3). Plain
// arithmetic, for the host.
namespace skyrank::kernels::cuda::topk {

/// Random rows whose elements, sorted, divide n rows into buckets: 8 sqrt(n), so that sorting them takes about as long
/// as the selection at the end.
std::size_t splitter_count(std::size_t n);

/// A range of buckets, given by the splitters at its ends. Bucket i lies between the splitters i - 1 and i; before the
/// first and behind the last one there is one, too.
struct PivotPair {
  std::ptrdiff_t low = -1;   ///< -1: the range begins with the first bucket
  std::ptrdiff_t high = -1;  ///< number of splitters: it ends with the last one

  bool operator==(const PivotPair&) const = default;
};

/// Probability that bucket i of those of `splitters` splitters holds the row that a fraction p of all rows precede,
/// 0 < p < 1: that i of the splitters do (equation 1).
double bucket_probability(std::size_t splitters, std::size_t i, double p);

/// The buckets around the likeliest one, as many on either side, that hold the k-th of n rows with a probability of at
/// least `wished`, 0 < k < n, 0 < wished < 1.
PivotPair likely_pivots(std::size_t n, std::size_t k, std::size_t splitters, double wished);

/// Returns as many buckets right before, or right behind, those of `pivots`, as far as there are so many.
PivotPair shifted_down(const PivotPair& pivots);
PivotPair shifted_up(const PivotPair& pivots, std::size_t splitters);

}  // namespace skyrank::kernels::cuda::topk
