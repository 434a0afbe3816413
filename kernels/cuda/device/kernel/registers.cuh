#pragma once

#include <cuda_runtime.h>

// Arrays that a thread holds in registers, by numbers that are known only at run time: registers have no addresses. And
// what the compiler is to keep in registers, or not to.
namespace skyrank::kernels::cuda {

/// Has the compiler keep what it would compute again for each tile.
__device__ inline void hold_in_register([[maybe_unused]] unsigned& value) {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+r"(value));
#endif
}

/// One of a power of two of values.
template <class T, unsigned kCount>
__device__ T chosen_of(const T (&values)[kCount], unsigned which) {
  if constexpr (kCount == 1) {
    return values[0];
  } else {
    T halves[kCount / 2];
#pragma unroll
    for (unsigned i = 0; i < kCount / 2; ++i) halves[i] = (which & 1) != 0 ? values[2 * i + 1] : values[2 * i];
    return chosen_of(halves, which / 2);
  }
}

/// Sets one of the values.
template <class T, unsigned kCount>
__device__ void set_chosen(T (&values)[kCount], unsigned which, const T& value) {
#pragma unroll
  for (unsigned i = 0; i < kCount; ++i) {
    if (i == which) values[i] = value;
  }
}

}  // namespace skyrank::kernels::cuda
