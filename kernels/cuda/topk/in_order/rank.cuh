#pragma once

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/in_order/list_part.cuh"
#include "kernels/cuda/topk/in_order/policy.hpp"

// Few elements in order: each is compared with all others, and the count of those below it is its rank.
namespace skyrank::kernels::cuda::topk {

inline constexpr unsigned kCountThreads = CountPolicy::kThreads;

/// Each lane has an element, the same ones in all warps of a block; each warp counts in its part of the list.
template <class Element>
__global__ void __launch_bounds__(kCountThreads)
    rank_by_counting(Part<Element> part, Ranked<Element> ranked, Zeros zeros) {
  constexpr unsigned kWarps = kCountThreads / kLanes;
  __shared__ __align__(16) Element chunks[kWarps][kLanes];
  __shared__ unsigned ranks[kLanes];
  wait_for_previous();
  let_next_start();
  zeros.set();
  if (part.failed()) {
    if (threadIdx.x == 0) part.guess->failed = 1;
    return;
  }
  const unsigned lane = threadIdx.x % kLanes;
  const unsigned warp = threadIdx.x / kLanes;
  const std::size_t size = part.size();
  for (std::size_t first = std::size_t{blockIdx.x} * kLanes; first < size; first += std::size_t{gridDim.x} * kLanes) {
    const bool there = first + lane < size;
    const Element mine = there ? part.at(first + lane) : kNoElement<Element>;
    if (warp == 0) ranks[lane] = 0;
    unsigned below = 0;
    Element next = warp * kLanes + lane < size ? part.at(warp * kLanes + lane) : kNoElement<Element>;
    for (std::size_t from = warp * kLanes; from < size; from += kCountThreads) {
      chunks[warp][lane] = next;
      const std::size_t place = from + kCountThreads + lane;
      next = place < size ? part.at(place) : kNoElement<Element>;
      __syncwarp();
#pragma unroll
      for (unsigned i = 0; i < kLanes; ++i) below += chunks[warp][i] < mine ? 1 : 0;
      __syncwarp();
    }
    __syncthreads();
    atomicAdd(&ranks[lane], below);
    __syncthreads();
    if (warp == 0 && there) ranked.put(ranks[lane], mine);
    __syncthreads();
  }
}

}  // namespace skyrank::kernels::cuda::topk
