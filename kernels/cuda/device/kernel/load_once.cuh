#pragma once

#include <cuda_runtime.h>

// Loads of what a kernel reads once.
namespace skyrank::kernels::cuda {

/// A load past the L1 cache, of what does not change meanwhile.
__device__ inline uint4 load_once(const uint4* from) {
#if defined(__CUDA_ARCH__)
  uint4 loaded;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(loaded.x), "=r"(loaded.y), "=r"(loaded.z), "=r"(loaded.w)
               : "l"(from));
  return loaded;
#else
  return *from;
#endif
}
__device__ inline uint2 load_once(const uint2* from) {
#if defined(__CUDA_ARCH__)
  uint2 loaded;
  asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(loaded.x), "=r"(loaded.y) : "l"(from));
  return loaded;
#else
  return *from;
#endif
}

}  // namespace skyrank::kernels::cuda
