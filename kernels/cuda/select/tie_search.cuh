#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/device/kernel/scan.cuh"
#include "kernels/cuda/select/policy.hpp"

namespace skyrank::kernels::cuda::select {

inline constexpr unsigned kTieWords = LongPolicy::kTieWords;

/// The search for the place in a row up to which numbers that equal its bound are enough, in device memory. Blocks take
/// one piece of the row after the other until they have found as many.
struct TieSearch {
  unsigned pieces = 0;         ///< pieces of a row, of kTieWords words each
  unsigned* counts = nullptr;  ///< ties of each piece that was taken
  unsigned* taken = nullptr;   ///< pieces of each row that were taken; zeros at first
  unsigned* found = nullptr;   ///< ties found in each row; zeros at first

  /// Returns the next piece of a row, or none where enough ties have been found.
  __device__ unsigned take(std::size_t row, unsigned wanted) const {
    return *static_cast<volatile unsigned*>(found + row) >= wanted ? pieces : atomicAdd(&taken[row], 1u);
  }
  __device__ void add(std::size_t row, unsigned piece, unsigned ties) const {
    counts[row * pieces + piece] = ties;
    atomicAdd(&found[row], ties);
  }
  /// Returns the first word behind the piece in which the ties are enough. All threads of a block of
  /// kBlockThreads call it.
  template <unsigned kBlockThreads>
  __device__ unsigned end(std::size_t row, unsigned wanted) const {
    __shared__ unsigned last;
    if (threadIdx.x == 0) last = pieces;
    const unsigned all = min(taken[row], pieces);
    unsigned before = 0;
    for (unsigned first = 0; first < all && before < wanted; first += kBlockThreads) {
      const unsigned piece = first + threadIdx.x;
      const unsigned mine = piece < all ? counts[row * pieces + piece] : 0;
      unsigned of_these = 0;
      const unsigned below = before + sum_before<kBlockThreads>(mine, of_these);
      if (below < wanted && below + mine >= wanted) last = piece;
      before += of_these;
    }
    __syncthreads();
    return (last + 1) * kTieWords;
  }
};

}  // namespace skyrank::kernels::cuda::select
