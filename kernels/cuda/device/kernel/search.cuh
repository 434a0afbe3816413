#pragma once

#include <cuda_runtime.h>

namespace skyrank::kernels::cuda {

/// Returns the first of [begin, end) that something holds for, as it does for all after it; `end` where there is none.
template <class Index, class Holds>
__device__ Index first_where(Index begin, Index end, Holds holds) {
  while (begin < end) {
    const Index middle = begin + (end - begin) / 2;
    if (holds(middle))
      end = middle;
    else
      begin = middle + 1;
  }
  return begin;
}

}  // namespace skyrank::kernels::cuda
