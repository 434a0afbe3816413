#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/registers.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/sampled_threshold/bin_rule.cuh"
#include "kernels/cuda/topk/sampled_threshold/threshold_plan.hpp"

// Candidates that a scan puts where they will be ordered, so that one launch after it is enough (rank_bins.cuh): most
// bins are so small that each of their elements is ranked by counting those below it. Where keys are not spread evenly
// between knots, bins are larger, and a block sorts them; the answer is the same.
namespace skyrank::kernels::cuda::topk {

/// Room for elements by bins.
template <class Element>
struct Bins {
  BinRule<Element> rule;
  unsigned* sizes = nullptr;  ///< kBins, then `beyond`'s, each at its place_of_size()
  Element* elements = nullptr;
  unsigned count = kBins;  ///< or kFewBins
  unsigned room = 0;       ///< for elements in each bin
  /// Elements that their bin has no room for, as they come.
  Element* beyond = nullptr;
  uint2* places = nullptr;  ///< their bins, and their places there
  unsigned beyond_room = 0;

  __host__ __device__ bool some() const { return rule.count > 0; }

  /// Returns the counter of a bin, or of `beyond`, which is kBins.
  __device__ unsigned& size(unsigned bin) const { return sizes[place_of_size(bin)]; }

  /// By all threads of a grid.
  __device__ void clear() const {
    constexpr unsigned kAtATime = sizeof(uint4) / sizeof(unsigned);
    const unsigned own = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned stride = gridDim.x * blockDim.x;
    for (unsigned i = own; i < count / kAtATime; i += stride)
      *reinterpret_cast<uint4*>(&size(i * kAtATime)) = make_uint4(0, 0, 0, 0);
    if (own == 0) size(kBins) = 0;
  }

  __device__ void put(Element element, unsigned bin, unsigned place) const {
    if (place < room) {
      elements[bin * room + place] = element;
      return;
    }
    const unsigned i = atomicAdd(&size(kBins), 1u);  // by a constant, so that a warp's are added together
    if (i >= beyond_room) return;
    beyond[i] = element;
    places[i] = make_uint2(bin, place);
  }
};

/// A warp's way to bins, as ListSink is one to a list. Several elements of a lane are on their way at a time: each asks
/// for its place in the L2 cache.
template <class Element>
struct BinSink {
  const Bins<Element>& bins;  ///< a kernel's parameter
  const KnotsOfBlock<Element>& knots;

  __device__ void put(const Element* held, unsigned size) const {
    constexpr unsigned kAtATime = 16 / sizeof(Element);
    for (unsigned first = threadIdx.x % kLanes; first < size; first += kAtATime * kLanes) {
      unsigned bin[kAtATime];
      unsigned place[kAtATime] = {};
#pragma unroll
      for (unsigned i = 0; i < kAtATime; ++i) bin[i] = bin_of(held[min(first + i * kLanes, size - 1)]);
#pragma unroll
      for (unsigned i = 0; i < kAtATime; ++i) {
        if (first + i * kLanes < size) place[i] = atomicAdd(&bins.size(bin[i]), 1u);
      }
#pragma unroll
      for (unsigned i = 0; i < kAtATime; ++i) {
        if (first + i * kLanes < size) bins.put(held[first + i * kLanes], bin[i], place[i]);
      }
    }
  }

 private:
  __device__ unsigned bin_of(Element element) const { return knots.bin_of(bins.rule, element); }
};

}  // namespace skyrank::kernels::cuda::topk
