#pragma once

#include "kernels/cuda/device/kernel/block.cuh"

namespace skyrank::kernels::cuda::topk {

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
