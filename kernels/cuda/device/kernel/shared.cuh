#pragma once

#include <cuda_runtime.h>

namespace skyrank::kernels::cuda {

/// A block's dynamic shared memory, as large as its launch asked for: the same bytes for every T. Aligned to 16 bytes.
template <class T>
__device__ T* dynamic_shared() {
  static_assert(alignof(T) <= 16);
#if defined(__CUDACC__)
  extern __shared__ __align__(16) unsigned char bytes[];
  return reinterpret_cast<T*>(bytes);
#else
  // Kernels that are compiled as plain C++ run on the emulator of tests/emulator.
  return static_cast<T*>(emulated_dynamic_shared());
#endif
}

}  // namespace skyrank::kernels::cuda
