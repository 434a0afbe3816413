#pragma once

#include <cuda_runtime.h>

namespace cub {

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

/// Prefix sums of a value of each of kThreads threads, all of a block.
template <class T, int kThreads, BlockScanAlgorithm = BLOCK_SCAN_RAKING>
class BlockScan {
 public:
  struct TempStorage {
    T values[kThreads];
    T total;
  };

  explicit BlockScan(TempStorage& storage) : storage_(storage) {}

  void ExclusiveSum(T value, T& before, T& total) {
    if (blockDim.x != kThreads) __trap();
    storage_.values[threadIdx.x] = value;
    __syncthreads();
    if (threadIdx.x == 0) sum_up();
    __syncthreads();
    before = storage_.values[threadIdx.x];
    total = storage_.total;
  }

 private:
  void sum_up() {
    storage_.total = 0;
    for (T& value : storage_.values) {
      const T own = value;
      value = storage_.total;
      storage_.total += own;
    }
  }

  TempStorage& storage_;
};

}  // namespace cub
