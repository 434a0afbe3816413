#pragma once

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/topk/in_order/list_part.cuh"
#include "kernels/cuda/topk/in_order/policy.hpp"

// Few elements in order: each is compared with all others, and the count of those below it is its rank.
namespace skyrank::kernels::cuda::topk {

inline constexpr unsigned kCountThreads = CountPolicy::kThreads;

/// Ranks elements by the threads of a block: each lane has one, the same ones in all warps, and each warp counts in its
/// part of the list.
template <class Element>
__device__ void rank_all(const Part<Element>& part, const Ranked<Element>& ranked) {
  constexpr unsigned kWarps = kCountThreads / kLanes;
  __shared__ __align__(16) Element chunks[kWarps][kLanes];
  __shared__ unsigned ranks[kLanes];
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

template <class Element>
__global__ void __launch_bounds__(kCountThreads)
    rank_by_counting(Part<Element> part, Ranked<Element> ranked, Zeros zeros) {
  wait_for_previous();
  let_next_start();
  zeros.set();
  if (part.failed()) {
    if (threadIdx.x == 0) part.guess->failed = 1;
    return;
  }
  rank_all(part, ranked);
}

/// Ranks the elements of a list that the kernels before could not put in order.
template <class Element>
__global__ void __launch_bounds__(kCountThreads) rank_if_failed(Part<Element> part, Ranked<Element> ranked) {
  wait_for_previous();
  let_next_start();
  if (part.guess->failed != 0) rank_all(part, ranked);
}

}  // namespace skyrank::kernels::cuda::topk
