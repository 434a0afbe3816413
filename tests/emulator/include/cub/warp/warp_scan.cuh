#pragma once

#include <cuda_runtime.h>

namespace cub {

/// Prefix sums of a value of each lane of a warp.
template <class T>
class WarpScan {
 public:
  struct TempStorage {};

  explicit WarpScan(TempStorage& /*storage*/) {}

  void ExclusiveSum(T value, T& before, T& total) {
    constexpr unsigned kAll = 0xffffffffu;
    T sum = value;
    for (unsigned distance = 1; distance < 32; distance *= 2) {
      const T below = __shfl_up_sync(kAll, sum, distance);
      if (threadIdx.x % 32 >= distance) sum += below;
    }
    before = sum - value;
    total = __shfl_sync(kAll, sum, 31);
  }
};

}  // namespace cub
