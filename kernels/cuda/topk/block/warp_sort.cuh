#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/topk/block/block_select.cuh"

namespace skyrank::kernels::cuda::topk {

/// Sorts a warp's elements, kItems of each lane, by Batcher's bitonic network: afterwards the least are with lane 0, a
/// lane's own in order. kItems is a power of two. All lanes call.
template <unsigned kItems, class Element>
__device__ void sort_of_warp(Element (&items)[kItems]) {
  const unsigned first = threadIdx.x % kLanes * kItems;
  for (unsigned size = 2; size <= kLanes * kItems; size *= 2) {
    for (unsigned distance = size / 2; distance >= kItems; distance /= 2) {
#pragma unroll
      for (unsigned i = 0; i < kItems; ++i) {
        const Element other = from_lane_xor(items[i], distance / kItems);
        const bool wants_least = ((first + i) & distance) == 0;
        const bool rises = ((first + i) & size) == 0;
        const bool other_is_less = other < items[i];
        if (other_is_less == (wants_least == rises)) items[i] = other;
      }
    }
#pragma unroll
    for (unsigned distance = kItems / 2; distance > 0; distance /= 2) {
      if (distance >= size) continue;
#pragma unroll
      for (unsigned i = 0; i < kItems; ++i) {
        if ((i & distance) != 0) continue;
        const bool rises = ((first + i) & size) == 0;
        const Element a = items[i];
        const Element b = items[i + distance];
        const bool swapped = (b < a) == rises;
        items[i] = swapped ? b : a;
        items[i + distance] = swapped ? a : b;
      }
    }
  }
}

}  // namespace skyrank::kernels::cuda::topk
