#pragma once

#include <cuda_runtime.h>

// Arrays that a thread holds in registers, by numbers that are known only at run time: registers have no addresses.
namespace skyrank::kernels::cuda {

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
