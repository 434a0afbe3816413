#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/device/kernel/quotient.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/sampled_threshold/threshold_plan.hpp"

// How candidates are divided into bins. The sample that gave the threshold tells where between zero and the threshold
// they lie: its elements below the threshold, the knots, bound intervals with about as many candidates each. An
// interval is divided into bins of equal width, as finely as if the keys were spread evenly within it.
namespace skyrank::kernels::cuda::topk {

/// Divides elements up to a threshold into bins, in ascending order. In shared memory KnotsOfBlock has its knots,
/// and tells an element's bin by them.
template <class Element>
struct BinRule {
  static constexpr int kRowBits = sizeof(Element) == 8 ? 32 : 64;
  /// Between the least knots, that tell how close together the elements below all knots may be.
  static constexpr unsigned kLowIntervals = 8;

  Element* knots = nullptr;      ///< in device memory: ascending, the last one is the threshold
  unsigned count = 0;            ///< number of knots, at most kMaxKnots
  unsigned width = 0;            ///< bins of the interval that ends at a knot
  unsigned low_bins = kLowBins;  ///< bins below the least knot, at least kLowBins
  std::uint64_t first = 0;       ///< the least bits of a row id in an element,
  std::uint64_t rows = 0;        ///< and how many different ones there are

  __device__ static std::uint64_t key(Element element) { return static_cast<std::uint64_t>(element >> kRowBits); }
  __device__ std::uint64_t row(Element element) const {
    constexpr std::uint64_t kMask = ~std::uint64_t{0} >> (64 - kRowBits);
    return (static_cast<std::uint64_t>(element) & kMask) - first;
  }

  /// How many knots are below one.
  template <class Knot>
  __device__ unsigned interval_of(Knot knot, const Knot* sorted) const {
    unsigned interval = 0;
    for (unsigned step = (kMaxKnots + 1) / 2; step > 0; step /= 2) {
      if (interval + step < count && sorted[interval + step - 1] < knot) interval += step;
    }
    return interval;
  }

  /// Rows of key zero, which may be that of all values below a limit: where all knots have others, bins of their own.
  template <unsigned kBinsOfIt>
  __device__ unsigned bin_of_zero(std::uint64_t row_of_zero) const {
    const float bin = quotient(static_cast<float>(row_of_zero) * kBinsOfIt, static_cast<float>(rows));
    return min(static_cast<unsigned>(bin), kBinsOfIt - 1);
  }

  /// Bins for a unit of distance from the least knot, near it, by the extent of the next few intervals. Twice as wide
  /// as the bins of these are in the mean: chance may put several intervals' elements below all knots.
  __device__ float low_scale_of(unsigned intervals, float extent) const {
    return quotient(static_cast<float>(intervals * width / 2), extent + 1);
  }

  /// Returns how many of the bins below all knots lie between an element's and the least knot: half of them are equal.
  /// Then the first doubling of that distance has 32, the next two together as many, the next four, and so on. Returns
  /// 0 for a negative distance, as elements that are not below all knots may have.
  __device__ static unsigned steps_below(float steps, unsigned bins = kLowBins) {
    constexpr unsigned kBits = 5;
    constexpr float kDoubling = 1u << 23;
    const auto even = static_cast<float>(bins / 2);
    const auto farther = static_cast<float>(doublings_of(fmaxf(steps, even), even, 23));
    return min(__float2uint_rz(fminf(steps, even)) + doublings_of(kDoubling + farther, kDoubling, kBits), bins - 1);
  }

  /// Parts of doublings from one number to another, 2^bits of each. It may be anything where the former is the greater.
  __device__ static unsigned doublings_of(float number, float from, unsigned bits) {
    constexpr unsigned kMantissa = 23;
    return (__float_as_uint(number) - __float_as_uint(from)) >> (kMantissa - bits);
  }
};

/// A rule's knots, where the threads of a block read them.
template <class Element>
class KnotsOfBlock {
 public:
  using Rule = BinRule<Element>;

  __device__ Element threshold(unsigned count) const { return sorted_[count - 1]; }

  /// Brings them to shared memory. All threads of a block call it, at least kMaxKnots.
  __device__ void load(const Rule& rule) {
    if (threadIdx.x < rule.count) set_knot(rule, threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) set_low_scale(rule);
    __syncthreads();
  }
  __device__ void set_knot(const Rule& rule, unsigned i) { sorted_[i] = rule.knots[i]; }
  /// Once all knots are set.
  __device__ void set_low_scale(const Rule& rule) {
    const unsigned intervals = min(Rule::kLowIntervals, rule.count - 1);
    low_scale_ = rule.low_scale_of(intervals, distance_below(rule, sorted_[0], sorted_[intervals]));
  }

  /// The bin of an element not above the threshold.
  __device__ unsigned bin_of(const Rule& rule, Element element) const {
    const unsigned interval = rule.interval_of(element, sorted_);
    const Element high = sorted_[interval];
    const Element low = interval == 0 ? high : sorted_[interval - 1];
    const bool below_all = interval == 0 && Rule::key(element) != Rule::key(high);
    const float part = part_of_interval(rule, element, low, high, interval == 0);
    // The least first: the part of one that is below all knots means nothing, and may be too large for an integer.
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
  /// Elements of 64 bits have bins below all knots whose widths double from the least one on: more cost their scan more
  /// than it saves, up to 2 us where rows are sorted.
  static constexpr bool kDoubling = sizeof(Element) == 8;
  /// The first bins, for rows of key zero.
  static constexpr unsigned kBinsOfZero = kLowBins / 8;
  /// Share of an interval's bins for its lower knot's key, and for its upper one's.
  static constexpr float kOfKnot = 0x1p-2F;
  /// Keys that differ by less may be integers of which most occur.
  static constexpr std::uint64_t kCloseKeys = 256;

  /// How far an element lies below another: by their keys, less a part of one by its row where these are close, as of
  /// integers that all occur. Does not rise where the element does: such differences are exact but for one rounding.
  __device__ static float distance_below(const Rule& rule, Element element, Element other) {
    const std::uint64_t keys = Rule::key(other) - Rule::key(element);
    const float part = fminf(quotient(static_cast<float>(rule.row(element)), static_cast<float>(rule.rows)), 1);
    return static_cast<float>(keys) - (keys < kCloseKeys ? part : 0);
  }

  /// Returns the place of an element between two knots, from 0 to 1: by key and row together if few keys lie between,
  /// which may be integers that all occur. Otherwise a part is for the lower one's key, another for the upper one's, so
  /// that each of few different keys is divided by its rows; elements between go by key, and by row too if keys are
  /// close. The first interval has only rows of its knot's key. The result does not fall when the element rises,
  /// however it is rounded, and there are no branches: lanes meet all cases.
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

  /// Returns the logarithm of the number of bins below all knots that have a width before it doubles, such that there
  /// is one for every 32-bit key.
  __device__ static unsigned fraction_bits(const Rule& rule) {
    constexpr unsigned kDoublings = 33;
    return 31 - static_cast<unsigned>(__clz(static_cast<int>(rule.low_bins / kDoublings)));
  }

  Element sorted_[kMaxKnots];
  float low_scale_;  ///< bins below all knots for a unit of distance from the least one, near it, unless they double
};

}  // namespace skyrank::kernels::cuda::topk
