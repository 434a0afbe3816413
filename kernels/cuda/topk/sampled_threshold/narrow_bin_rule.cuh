#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/topk/sampled_threshold/bin_rule.cuh"

// How candidates with keys of 1 or 2 bytes are divided into bins.
namespace skyrank::kernels::cuda::topk {

/// Does what KnotsOfBlock does, for elements with narrow keys and rows of 32 bits. Keys between two knots may all
/// occur, and their rows, so that keys and rows together are spread evenly if either are: the bins of an interval are
/// equal in these.
template <class Element>
class NarrowKnotsOfBlock {
 public:
  using Rule = BinRule<Element>;

  __device__ Element threshold(unsigned /*count*/) const { return last_; }

  /// Brings the knots to shared memory. All threads of a block call it.
  __device__ void load(const Rule& rule) {
    for (unsigned i = threadIdx.x; i < rule.count; i += blockDim.x) set_knot(rule, i);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < rule.count; i += blockDim.x) set_interval(rule, i);
    __syncthreads();
  }
  __device__ void set_knot(const Rule& rule, unsigned i) {
    const Element knot = rule.knots[i];
    places_[i] = place_of(rule, knot);
    if (i == rule.count - 1) last_ = knot;
  }
  /// Once all knots are set.
  __device__ void set_interval(const Rule& rule, unsigned i) {
    if (i == 0) {
      scales_[0] = low_scale(rule);
      return;
    }
    const std::uint64_t extent = places_[i] - places_[i - 1];
    scales_[i] = quotient(static_cast<float>(rule.width), static_cast<float>(extent) + 1);
  }

  /// The bin of an element not above the threshold.
  __device__ unsigned bin_of(const Rule& rule, Element element) const {
    const std::uint64_t own = place_of(rule, element);
    const unsigned interval = rule.interval_of(own, places_);
    const float scale = scales_[interval];
    if (interval == 0) {
      if (own < rule.rows && places_[0] >= rule.rows) return rule.template bin_of_zero<kBinsOfZero>(own);
      const unsigned steps = Rule::steps_below(static_cast<float>(places_[0] - own) * scale);
      return kLowBins - 1 - min(steps, kLowBins - 1 - kBinsOfZero);
    }
    const float bin = static_cast<float>(own - places_[interval - 1]) * scale;
    return kLowBins + interval * rule.width + static_cast<unsigned>(fminf(bin, static_cast<float>(rule.width - 1)));
  }

 private:
  /// The first bins, for rows of key zero.
  static constexpr unsigned kBinsOfZero = kLowBins / 4;

  /// Bins for a unit of place below the least knot, near it: only by the knots of the least one's key, if there are
  /// others. At least so that half of the bins reach the first element there may be.
  __device__ float low_scale(const Rule& rule) const {
    constexpr unsigned kMax = Rule::kLowIntervals;
    const std::uint64_t next_key = (Rule::key(rule.knots[0]) + 1) * rule.rows;
    unsigned same = 0;
    for (unsigned i = 1; i <= kMax; ++i) same += i < rule.count && places_[i] < next_key ? 1 : 0;
    const unsigned intervals = same > 0 ? same : min(kMax, rule.count - 1);
    const float even = fminf(quotient(static_cast<float>(kLowBins / 2), static_cast<float>(places_[0]) + 1), 1);
    const float near = rule.low_scale_of(intervals, static_cast<float>(places_[intervals] - places_[0]));
    return fmaxf(fminf(near, 1), even);
  }

  /// Among all elements of as many rows of each key.
  __device__ static std::uint64_t place_of(const Rule& rule, Element element) {
    return Rule::key(element) * rule.rows + rule.row(element);
  }

  std::uint64_t places_[kMaxKnots];  ///< place_of the knots
  float scales_[kMaxKnots];          ///< bins for a unit of place; the first one is that below all knots
  Element last_;
};

}  // namespace skyrank::kernels::cuda::topk
