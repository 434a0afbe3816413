#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/device/kernel/quotient.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/sampled_threshold/threshold_plan.hpp"

// Divides candidates into bins. The sample that gave the threshold estimates where between zero and the threshold they
// lie: its elements below the threshold, the knots, bound intervals with about as many candidates each. An interval is
// divided into bins of equal width, as if keys were spread evenly within it.
namespace skyrank::kernels::cuda::topk {

/// Divides elements up to a threshold into bins, in ascending order. KnotsOfBlock has a copy of the knots in shared
/// memory and finds the bin of an element.
template <class Element>
struct BinRule {
  static constexpr int kRowBits = sizeof(Element) == 8 ? 32 : 64;
  /// The lowest intervals; they estimate the density below the first knot.
  static constexpr unsigned kLowIntervals = 8;

  Element* knots = nullptr;      ///< in device memory: ascending, the last one is the threshold
  unsigned count = 0;            ///< number of knots, at most kMaxKnots
  unsigned width = 0;            ///< bins of the interval that ends at a knot
  unsigned low_bins = kLowBins;  ///< bins below the first knot, at least kLowBins
  std::uint64_t first = 0;       ///< the least bits of a row id in an element,
  std::uint64_t rows = 0;        ///< and how many different ones there are

  __device__ static std::uint64_t key(Element element) { return static_cast<std::uint64_t>(element >> kRowBits); }
  __device__ std::uint64_t row(Element element) const {
    constexpr std::uint64_t kMask = ~std::uint64_t{0} >> (64 - kRowBits);
    return (static_cast<std::uint64_t>(element) & kMask) - first;
  }

  /// Returns the number of knots below a given one.
  template <class Knot>
  __device__ unsigned interval_of(Knot knot, const Knot* sorted) const {
    unsigned interval = 0;
    for (unsigned step = (kMaxKnots + 1) / 2; step > 0; step /= 2) {
      if (interval + step < count && sorted[interval + step - 1] < knot) interval += step;
    }
    return interval;
  }

  /// Returns the bin of a row of key zero, which may be the key of all values below a limit. These rows have bins of
  /// their own where no knot has that key.
  template <unsigned kBinsOfIt>
  __device__ unsigned bin_of_zero(std::uint64_t row_of_zero) const {
    const float bin = quotient(static_cast<float>(row_of_zero) * kBinsOfIt, static_cast<float>(rows));
    return min(static_cast<unsigned>(bin), kBinsOfIt - 1);
  }

  /// Returns the bins per unit of distance just below the first knot, from the extent of the lowest intervals. These
  /// bins are twice as wide as the mean bin of the intervals, since chance may put the elements of several intervals
  /// below all knots.
  __device__ float low_scale_of(unsigned intervals, float extent) const {
    return quotient(static_cast<float>(intervals * width / 2), extent + 1);
  }

  /// Returns the number of bins between an element below all knots and the first knot. The half of these bins next to
  /// the knot has equal widths. Beyond them, the first doubling of the distance has 32 bins, the next two doublings
  /// have 32 together, the next four as well, and so on. Returns 0 for a negative distance, which elements that are not
  /// below all knots may have.
  __device__ static unsigned steps_below(float steps, unsigned bins = kLowBins) {
    constexpr unsigned kBits = 5;
    constexpr float kDoubling = 1u << 23;
    const auto even = static_cast<float>(bins / 2);
    const auto farther = static_cast<float>(doublings_of(fmaxf(steps, even), even, 23));
    return min(__float2uint_rz(fminf(steps, even)) + doublings_of(kDoubling + farther, kDoubling, kBits), bins - 1);
  }

  /// Returns the number of doublings between two numbers, in units of 2^-bits. The result means nothing where `from` is
  /// the greater one.
  __device__ static unsigned doublings_of(float number, float from, unsigned bits) {
    constexpr unsigned kMantissa = 23;
    return (__float_as_uint(number) - __float_as_uint(from)) >> (kMantissa - bits);
  }
};

/// The knots of a rule in shared memory, for the threads of a block.
template <class Element>
class KnotsOfBlock {
 public:
  using Rule = BinRule<Element>;

  __device__ Element threshold(unsigned count) const { return sorted_[count - 1]; }

  /// Copies the knots to shared memory. All threads of the block must call it; there are at least kMaxKnots.
  __device__ void load(const Rule& rule) {
    if (threadIdx.x < rule.count) set_knot(rule, threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) set_low_scale(rule);
    __syncthreads();
  }
  __device__ void set_knot(const Rule& rule, unsigned i) { sorted_[i] = rule.knots[i]; }
  /// Sets the scale of the bins below all knots. Requires that all knots are set.
  __device__ void set_low_scale(const Rule& rule) {
    const unsigned intervals = min(Rule::kLowIntervals, rule.count - 1);
    low_scale_ = rule.low_scale_of(intervals, distance_below(rule, sorted_[0], sorted_[intervals]));
  }

  /// Returns the bin of an element that is not above the threshold.
  __device__ unsigned bin_of(const Rule& rule, Element element) const {
    const unsigned interval = rule.interval_of(element, sorted_);
    const Element high = sorted_[interval];
    const Element low = interval == 0 ? high : sorted_[interval - 1];
    const bool below_all = interval == 0 && Rule::key(element) != Rule::key(high);
    const float part = part_of_interval(rule, element, low, high, interval == 0);
    // The minimum comes first: the part of an element below all knots means nothing, and may overflow an integer.
    const auto in_interval =
        static_cast<unsigned>(fminf(part * static_cast<float>(rule.width), static_cast<float>(rule.width - 1)));
    const unsigned steps =
        kDoubling ? Rule::doublings_of(static_cast<float>(Rule::key(high) - Rule::key(element)), 1, fraction_bits(rule))
                  : Rule::steps_below(distance_below(rule, element, high) * low_scale_, rule.low_bins);
    const unsigned below = Rule::key(element) == 0 ? rule.template bin_of_zero<kBinsOfZero>(rule.row(element))
                                                   : rule.low_bins - 1 - min(steps, rule.low_bins - 1 - kBinsOfZero);
    return below_all ? below : rule.low_bins + interval * rule.width + in_interval;
  }

 private:
  /// Bins below all knots double in width from the first one on, for elements of 64 bits. A finer rule costs the scan
  /// of these elements more than it saves, up to 2 us where rows are sorted.
  static constexpr bool kDoubling = sizeof(Element) == 8;
  /// Number of the first bins, which rows of key zero have.
  static constexpr unsigned kBinsOfZero = kLowBins / 8;
  /// Share of an interval's bins for its lower knot's key, and for its upper one's.
  static constexpr float kOfKnot = 0x1p-2F;
  /// Keys that differ by less than this may be integers most of which occur.
  static constexpr std::uint64_t kCloseKeys = 256;

  /// Returns the distance of an element below another: the difference of their keys. Where keys are close, as integers
  /// that all occur are, the element's row takes up to 1 off. The result does not rise when the element rises, since
  /// such differences are exact but for one rounding.
  __device__ static float distance_below(const Rule& rule, Element element, Element other) {
    const std::uint64_t keys = Rule::key(other) - Rule::key(element);
    const float part = fminf(quotient(static_cast<float>(rule.row(element)), static_cast<float>(rule.rows)), 1);
    return static_cast<float>(keys) - (keys < kCloseKeys ? part : 0);
  }

  /// Returns the place of an element between two knots, from 0 to 1. If few keys lie between the knots, which may be
  /// integers that all occur, key and row decide together. Otherwise the key of each knot has a share of the bins,
  /// within which rows decide; between the two shares keys decide, and rows too where keys are close. The first
  /// interval has only rows of its knot's key. The result does not fall when the element rises, however it is rounded.
  /// There are no branches, since the lanes of a warp have all cases.
  __device__ float part_of_interval(const Rule& rule, Element element, Element low, Element high, bool is_first) const {
    constexpr std::uint64_t kFewKeys = 8;
    const std::uint64_t keys = Rule::key(high) - Rule::key(low);
    const std::uint64_t which = Rule::key(element) - Rule::key(low);
    const bool few = keys < kFewKeys;
    const bool close = keys < kCloseKeys;
    const bool lower = !few && which == 0;
    const bool upper = !few && which == keys;
    const bool of_knot = lower || upper;
    const std::uint64_t key_unit = of_knot ? 0 : (close ? rule.rows : 1);
    const std::uint64_t from = (few || lower) && !is_first ? rule.row(low) : 0;
    const std::uint64_t to = lower ? rule.rows - 1 : keys * key_unit + (few || upper ? rule.row(high) : 0);
    const std::uint64_t place = which * key_unit + (of_knot || close ? rule.row(element) : 0);
    const float part = quotient(static_cast<float>(place - from), static_cast<float>(to - from) + 1);
    const float offset = upper ? 1 - kOfKnot : kOfKnot;
    const float scale = of_knot ? kOfKnot : 1 - 2 * kOfKnot;
    return few ? part : (lower ? 0 : offset) + scale * part;
  }

  /// Returns the binary logarithm of the number of bins of one width below all knots, before the width doubles. All
  /// 32-bit keys have a bin then.
  __device__ static unsigned fraction_bits(const Rule& rule) {
    constexpr unsigned kDoublings = 33;
    return 31 - static_cast<unsigned>(__clz(static_cast<int>(rule.low_bins / kDoublings)));
  }

  Element sorted_[kMaxKnots];
  float low_scale_;  ///< bins per unit of distance just below the first knot; not for bins that double in width
};

}  // namespace skyrank::kernels::cuda::topk
