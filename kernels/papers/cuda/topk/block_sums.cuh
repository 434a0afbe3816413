#pragma once

#include "kernels/cuda/device/kernel/scan.cuh"

// Sums over the threads of a block whose size is a parameter of the algorithm.
namespace skyrank::kernels::cuda::topk {

/// The sum of `value` over the threads before this one, and over all in `total`.
template <class T>
__device__ T sum_before(T value, T& total) {
  __shared__ T of_warps[kLanes];
  const unsigned lane = threadIdx.x % kLanes;
  const unsigned warp = threadIdx.x / kLanes;
  T own_warp = 0;
  const T before_lane = sum_before_lane(value, own_warp);
  __syncthreads();  // the last call's sums have been read
  if (lane == 0) of_warps[warp] = own_warp;
  __syncthreads();
  T before = 0;
  total = 0;
  for (unsigned other = 0; other < blockDim.x / kLanes; ++other) {
    if (other < warp) before += of_warps[other];
    total += of_warps[other];
  }
  return before + before_lane;
}

/// Turns a count of each block into those of all blocks before it. All threads of one block call this, when all counts
/// have been written (last_block). Returns the total.
template <class T>
__device__ T sum_over_blocks(T* of_blocks) {
  const unsigned each = (gridDim.x + blockDim.x - 1) / blockDim.x;
  const unsigned begin = min(gridDim.x, threadIdx.x * each);
  const unsigned end = min(gridDim.x, begin + each);
  T mine = 0;
  for (unsigned block = begin; block < end; ++block) mine += __ldcg(&of_blocks[block]);
  T total = 0;
  T before = sum_before(mine, total);
  for (unsigned block = begin; block < end; ++block) {
    const T count = __ldcg(&of_blocks[block]);
    of_blocks[block] = before;
    before += count;
  }
  return total;
}

}  // namespace skyrank::kernels::cuda::topk
