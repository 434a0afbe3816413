#pragma once

#include <cuda_runtime.h>

// What the threads of a block do together. All threads of the block call these, which are a multiple of a warp.
namespace skyrank::kernels::cuda {

/// The sum of `value` over the threads before this one, and over all in `total`.
template <class T>
__device__ T sum_before(T value, T& total) {
  __shared__ T of_warps[32];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  T inclusive = value;
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const T below = __shfl_up_sync(~0u, inclusive, distance);
    if (lane >= distance) inclusive += below;
  }
  __syncthreads();  // the last call's sums have been read
  if (lane == 31) of_warps[warp] = inclusive;
  __syncthreads();
  T before = 0;
  total = 0;
  for (unsigned other = 0; other < blockDim.x / 32; ++other) {
    if (other < warp) before += of_warps[other];
    total += of_warps[other];
  }
  return before + inclusive - value;
}

/// Whether this block is the last of the grid to get here. It sees, in L2, what the others wrote before. `arrived` is 0
/// before the kernel and after it.
inline __device__ bool last_block(unsigned* arrived) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    if (last) *arrived = 0;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

}  // namespace skyrank::kernels::cuda
