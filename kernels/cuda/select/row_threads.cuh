#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/device/kernel/block.cuh"

namespace skyrank::kernels::cuda::select {

/// The threads that work on one row: a warp, or a block of kThreads. All of them call each function.
template <unsigned kThreads>
class RowThreads {
 public:
  static constexpr unsigned kWarps = kThreads / kLanes;

  /// Memory that they share.
  struct Shared {
    unsigned sums[2][kWarps];
    unsigned long long least[2][kWarps];
  };

  __device__ explicit RowThreads(Shared& shared) : shared_(shared) {}

  /// Returns the number of this thread among them.
  __device__ static unsigned rank() { return threadIdx.x % kThreads; }
  __device__ static void wait() {
    if constexpr (kWarps == 1) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }

  __device__ unsigned sum(unsigned value) {
    const unsigned of_warp = __reduce_add_sync(kAllLanes, value);
    if constexpr (kWarps == 1) {
      return of_warp;
    } else {
      // One barrier is enough, as the next call uses other memory.
      unsigned* const sums = shared_.sums[turn_ ^= 1];
      if (threadIdx.x % kLanes == 0) sums[threadIdx.x / kLanes] = of_warp;
      __syncthreads();
      const unsigned lane = threadIdx.x % kLanes;
      return __reduce_add_sync(kAllLanes, lane < kWarps ? sums[lane] : 0);
    }
  }

  /// Returns the least of unsigned integers of up to 64 bits.
  template <class T>
  __device__ T least(T value) {
    const T of_warp = least_of_warp(value);
    if constexpr (kWarps == 1) {
      return of_warp;
    } else {
      unsigned long long* const least = shared_.least[turn_ ^= 1];
      if (threadIdx.x % kLanes == 0) least[threadIdx.x / kLanes] = of_warp;
      __syncthreads();
      return least_of_warp(static_cast<T>(least[threadIdx.x % kLanes % kWarps]));
    }
  }

 private:
  Shared& shared_;
  unsigned turn_ = 0;
};

}  // namespace skyrank::kernels::cuda::select
