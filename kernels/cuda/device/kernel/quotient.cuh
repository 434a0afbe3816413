#pragma once

#include <cuda_runtime.h>

namespace skyrank::kernels::cuda {

/// Not rounded exactly, but always by the same factor for one divisor: two instructions instead of a dozen. Divisors
/// are less than 2^126.
__device__ inline float quotient(float dividend, float divisor) { return __fdividef(dividend, divisor); }

}  // namespace skyrank::kernels::cuda
