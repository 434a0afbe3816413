#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/topk/element.cuh"

namespace skyrank::kernels::cuda::topk {

/// The least of few elements, found by one warp: of a block that does nothing else this takes less than what the
/// block's threads could do together, with its barriers.
template <class Element>
struct LeastOfFew {
  static constexpr unsigned kOfLane = 4;
  static constexpr unsigned kMax = kOfLane * kLanes;
  static constexpr unsigned kMaxWanted = kLanes;

  Element held[kMax];  ///< in shared memory

  /// Calls put(rank, element) for the `wanted` least of the lanes' elements, from rank 0 on, 0 < wanted <= kMaxWanted.
  /// There are so many; what is not there is kNoElement, the others are all different. All lanes of one warp call.
  template <class Put>
  __device__ void find(const Element (&mine)[kOfLane], unsigned wanted, Put put) {
    const Element bound = bound_of(mine, wanted);
    const unsigned count = hold(mine, bound);
    for (unsigned i = threadIdx.x % kLanes; i < count; i += kLanes) {
      const Element own = held[i];
      const unsigned rank = below(own, count);
      if (rank < wanted) put(rank, own);
    }
  }

 private:
  /// The least elements of so many lanes are at or below it, and none of other lanes'.
  __device__ Element bound_of(const Element (&mine)[kOfLane], unsigned wanted) {
    Element least = mine[0];
#pragma unroll
    for (unsigned i = 1; i < kOfLane; ++i) least = mine[i] < least ? mine[i] : least;
    held[threadIdx.x % kLanes] = least;
    __syncwarp();
    const unsigned rank = below(least, kLanes);
    const unsigned lanes = __ballot_sync(kAllLanes, rank == wanted - 1 && least != kNoElement<Element>);
    const Element bound = lanes == 0 ? kNoElement<Element> : held[__ffs(static_cast<int>(lanes)) - 1];
    __syncwarp();
    return bound;
  }

  /// Copies those at or below a bound to shared memory. How many there are.
  __device__ unsigned hold(const Element (&mine)[kOfLane], Element bound) {
    const unsigned before_lane = (1u << threadIdx.x % kLanes) - 1;
    unsigned count = 0;
#pragma unroll
    for (unsigned i = 0; i < kOfLane; ++i) {
      const bool taken = mine[i] <= bound && mine[i] != kNoElement<Element>;
      const unsigned lanes = __ballot_sync(kAllLanes, taken);
      if (taken) held[count + static_cast<unsigned>(__popc(lanes & before_lane))] = mine[i];
      count += static_cast<unsigned>(__popc(lanes));
    }
    __syncwarp();
    return count;
  }

  __device__ unsigned below(Element element, unsigned count) const {
    unsigned below = 0;
#pragma unroll 8
    for (unsigned i = 0; i < count; ++i) below += held[i] < element ? 1 : 0;
    return below;
  }
};

}  // namespace skyrank::kernels::cuda::topk
