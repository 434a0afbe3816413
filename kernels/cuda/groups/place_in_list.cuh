#pragma once

#include "kernels/cuda/device/kernel/block.cuh"

namespace skyrank::kernels::cuda::groups {

/// Counts what the lanes of the warp add to a list, and returns the place of this lane's element, which is meaningless
/// where it adds none. All lanes call.
__device__ inline unsigned place_in_list(bool adds, unsigned* count) {
  const unsigned mask = __ballot_sync(kAllLanes, adds);
  if (mask == 0) return 0;
  const unsigned lane = threadIdx.x % kLanes;
  unsigned at = 0;
  if (lane == 0) at = atomicAdd(count, static_cast<unsigned>(__popc(mask)));
  return __shfl_sync(kAllLanes, at, 0) + static_cast<unsigned>(__popc(mask & ((1u << lane) - 1)));
}

}  // namespace skyrank::kernels::cuda::groups
