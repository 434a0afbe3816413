#pragma once

#include <cuda_runtime.h>

namespace skyrank::kernels::cuda {

/// Sorts `count` elements of shared memory by a bitonic network. The first step of a round compares elements at the
/// same distance from the middle of what becomes a run, so that all comparisons leave the lesser element first, and
/// those with places behind the last element can be left out. All threads of a block of kThreads call it, when the
/// elements are there, and find them in order.
template <unsigned kThreads, class Element>
__device__ void sort_in_block(Element* elements, unsigned count) {
  for (unsigned run = 2; run / 2 < count; run *= 2) {
    for (unsigned distance = run / 2; distance > 0; distance /= 2) {
      for (unsigned i = threadIdx.x;; i += kThreads) {
        const unsigned low = 2 * i - (i & (distance - 1));
        if (low >= count) break;
        const unsigned high = distance == run / 2 ? low ^ (run - 1) : low + distance;
        if (high >= count) continue;
        const Element a = elements[low];
        const Element b = elements[high];
        if (!(b < a)) continue;
        elements[low] = b;
        elements[high] = a;
      }
      __syncthreads();
    }
  }
}

}  // namespace skyrank::kernels::cuda
