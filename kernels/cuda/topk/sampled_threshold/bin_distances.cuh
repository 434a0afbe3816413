#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/quotient.cuh"
#include "kernels/cuda/topk/element.cuh"
#include "kernels/cuda/topk/warp_sort.cuh"

// Ranks of 128-bit elements within their bins by how far each lies from one of its bin, as a float: a comparison of the
// elements themselves takes four instructions at half of the rate, and a look at one four times the memory.
namespace skyrank::kernels::cuda::topk {

/// The distances of a block's elements, bin after bin, in shared memory.
class BinDistances {
 public:
  struct Rank {
    unsigned below;  ///< elements of a bin that are nearer
    bool sure;       ///< else others are as far, and they themselves tell
  };

  /// `words`: room for one of each element, of `rows` different ones' rows.
  __device__ BinDistances(unsigned* words, std::uint64_t rows)
      : words_(words), part_of_row_(quotient(kAllRows, static_cast<float>(rows))) {}

  /// How far above another one an element lies, rounded: by their keys, and by their rows, in parts of a key, where
  /// these are close together, as of integers of which a bin has several. Does not fall where the element rises.
  __device__ float between(Uint128 element, Uint128 other) const {
    constexpr float kClose = 256;
    const float keys = above(static_cast<std::uint64_t>(element >> 64), static_cast<std::uint64_t>(other >> 64));
    const float rows = above(static_cast<std::uint64_t>(element), static_cast<std::uint64_t>(other));
    return fabsf(keys) < kClose ? fmaf(rows, part_of_row_, keys) : keys;
  }

  __device__ void set(unsigned place, float distance) const { words_[place] = __float_as_uint(distance); }

  /// Returns the rank of the element at a place, among those of its bin, from `begin` to `end`.
  __device__ Rank rank(unsigned place, unsigned begin, unsigned end) const {
    const float own = at(place);
    float below = 0;
    float same = 0;
#pragma unroll 4
    for (unsigned i = begin; i < end; ++i) {
      const float other = at(i);
      below += other < own ? 1.0F : 0.0F;
      same += other == own ? 1.0F : 0.0F;
    }
    return {.below = static_cast<unsigned>(below), .sure = same == 1};
  }

  /// Sorts runs of 32 distances, of one bin after the other; bin_of(place) is that of one. No other member but
  /// rank_in_runs() can be called after that. Whether in each run those of one bin are different. All threads of a
  /// block call.
  template <class BinOf>
  __device__ bool sort_runs(unsigned size, BinOf bin_of) const {
    bool different = true;
    for (unsigned i = threadIdx.x; i / kLanes * kLanes < size; i += blockDim.x) {
      std::uint64_t own[] = {~std::uint64_t{0}};
      if (i < size) own[0] = std::uint64_t{bin_of(i)} << 32 | in_order(at(i));
      sort_of_warp(own);
      const std::uint64_t next = __shfl_down_sync(kAllLanes, static_cast<unsigned long long>(own[0]), 1);
      different &= i + 1 >= size || i % kLanes == kLanes - 1 || next != own[0];
      if (i < size) words_[i] = static_cast<unsigned>(own[0]);
    }
    return __syncthreads_and(different) != 0;
  }

  /// rank() of the element of a distance, where runs have been sorted.
  __device__ Rank rank_in_runs(float distance, unsigned place, unsigned begin, unsigned end) const {
    const unsigned own = in_order(distance);
    Rank rank{.below = 0, .sure = true};
#pragma unroll 4
    for (unsigned run = begin / kLanes; run * kLanes < end; ++run) {
      const unsigned first = max(run * kLanes, begin);
      const unsigned size = min((run + 1) * kLanes, end) - first;
      const unsigned below = below_in(words_ + first, size, own);
      const bool own_run = run == place / kLanes;  // all are different there
      rank.sure &= own_run || below == size || words_[first + below] != own;
      rank.below += below;
    }
    return rank;
  }

 private:
  /// A little less than a key, so that rounded rows of one key stay below those of the next.
  static constexpr float kAllRows = 1 - 0x1p-20F;

  __device__ static float above(std::uint64_t a, std::uint64_t b) {
    const auto apart = static_cast<float>(a > b ? a - b : b - a);
    return a > b ? apart : -apart;
  }

  /// Words that compare as floats do; there is one zero.
  __device__ static unsigned in_order(float distance) {
    constexpr unsigned kSign = 0x80000000;
    const unsigned word = __float_as_uint(distance);
    return (word & kSign) != 0 ? ~word : word | kSign;
  }

  /// How many of up to 32 words in order are below one.
  __device__ static unsigned below_in(const unsigned* words, unsigned size, unsigned own) {
    unsigned below = 0;
#pragma unroll
    for (unsigned step = kLanes; step > 0; step /= 2) {
      if (below + step <= size && words[below + step - 1] < own) below += step;
    }
    return below;
  }

  __device__ float at(unsigned place) const { return __uint_as_float(words_[place]); }

  unsigned* words_;  ///< distances, or once runs are sorted what compares as they do
  float part_of_row_;
};

}  // namespace skyrank::kernels::cuda::topk
