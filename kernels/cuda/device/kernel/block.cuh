#pragma once

#include <cuda_runtime.h>

// Operations of all threads of a block together. All threads of the block call these; their number is a multiple of a
// warp.
namespace skyrank::kernels::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr unsigned kLanes = 32;

/// The least of the warp's values, unsigned integers of up to 64 bits. All lanes call.
template <class T>
__device__ T least_of_warp(T value) {
  if constexpr (sizeof(T) <= sizeof(unsigned)) {
    return static_cast<T>(__reduce_min_sync(kAllLanes, static_cast<unsigned>(value)));
  } else {
    constexpr int kHalf = 32;
    const auto high = static_cast<unsigned>(value >> kHalf);
    const unsigned least_high = __reduce_min_sync(kAllLanes, high);
    const unsigned low = high == least_high ? static_cast<unsigned>(value) : ~0u;
    return static_cast<T>(least_high) << kHalf | __reduce_min_sync(kAllLanes, low);
  }
}

/// Adds one to a counter of the grid's. What the block wrote before its last barrier is seen by whoever finds that
/// added, and what those wrote whose ones it finds is seen by the block after its next barrier. Less than two fences
/// cost.
inline __device__ unsigned count_arrival(unsigned* arrived) {
#if defined(__CUDA_ARCH__)
  unsigned before = 0;
  asm volatile("atom.global.acq_rel.gpu.add.u32 %0, [%1], 1;"
               : "=r"(before)
               : "l"(__cvta_generic_to_global(arrived))
               : "memory");
  return before;
#else
  return atomicAdd(arrived, 1u);
#endif
}

/// Returns true if this block is the last of the grid to get here. It sees, in L2, what the others wrote before.
/// `arrived` is 0 before the kernel and after it.
inline __device__ bool last_block(unsigned* arrived) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    last = count_arrival(arrived) == gridDim.x - 1;
    if (last) *arrived = 0;
  }
  __syncthreads();
  return last;
}

}  // namespace skyrank::kernels::cuda
