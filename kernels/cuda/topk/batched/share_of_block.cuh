#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace skyrank::kernels::cuda::topk {

/// Returns true if `is_wanted(i)` for any i < count that is the block's: blockIdx.x and every gridDim.x further on. All
/// threads of the block call it, and ask at the same time, so that it takes one access to memory.
template <class IsWanted>
__device__ bool share_has_any(std::size_t count, IsWanted is_wanted) {
  bool any = false;
  const std::size_t grid = gridDim.x;
  for (std::size_t i = blockIdx.x + threadIdx.x * grid; i < count && !any; i += blockDim.x * grid) any = is_wanted(i);
  return __syncthreads_or(any ? 1 : 0) != 0;
}

}  // namespace skyrank::kernels::cuda::topk
