#pragma once

#include <cuda_runtime.h>

namespace skyrank::kernels::cuda {

/// A block's dynamic shared memory, as large as its launch asked for.
template <class T>
__device__ T* dynamic_shared() {
#if defined(__CUDACC__)
  extern __shared__ __align__(16) unsigned char bytes[];
  return reinterpret_cast<T*>(bytes);
#else
  return static_cast<T*>(emulated_dynamic_shared());
#endif
}

}  // namespace skyrank::kernels::cuda
