#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/skyline/bitmap/prefilter.cuh"
#include "kernels/cuda/skyline/chunk.cuh"

// Compares the survivors of the prefilter pair by pair, if they are few.
namespace skyrank::kernels::cuda::skyline::bitmap {

inline constexpr unsigned kFewThreads = FewPolicy::kThreads;
inline constexpr unsigned kFewRows = FewPolicy::kRows;
inline constexpr unsigned kFewBlocks = kFew / kFewRows;

/// Marks the members among the survivors, if there are at most `most` of them, which is no more than kFew.
template <class Key, bool kCount>
__global__ void __launch_bounds__(kFewThreads)
    settle_few(const __grid_constant__ Spared<Key> spared, std::uint32_t most, const PrefilterState* state,
               std::uint32_t* members, TestCounters* counters) {
  constexpr unsigned kOthers = kFewThreads / kFewRows;  // that a block meets at a time
  __shared__ unsigned dominated;
  follow_previous();
  const std::uint32_t count = state->survivors;
  if (count > most) return;
  const unsigned own_bit = 1u << threadIdx.x % kFewRows;
  const auto row_at = [&](std::uint32_t place) {
    return spared.few + std::size_t{min(place, count - 1)} * static_cast<unsigned>(spared.stride);
  };
  unsigned long long tests = 0;
  for (std::uint32_t first = blockIdx.x * kFewRows; first < count; first += gridDim.x * kFewRows) {
    if (threadIdx.x == 0) dominated = 0;
    __syncthreads();
    OwnRow<Key, 0> own;
    own.load(row_at(first + threadIdx.x % kFewRows), spared.stride);
    for (std::uint32_t other = threadIdx.x / kFewRows; other < count; other += kOthers) {
      const Key* const its = row_at(other);
      if constexpr (kCount) ++tests;
      if (at_least_as_good(its, own) && differs(its, own)) atomicOr(&dominated, own_bit);
      if ((*static_cast<const volatile unsigned*>(&dominated) & own_bit) != 0) break;
    }
    __syncthreads();
    if (threadIdx.x < kFewRows && first + threadIdx.x < count && (dominated & own_bit) == 0) {
      const std::uint32_t row = spared.rows[first + threadIdx.x];
      atomicOr(&members[row / 32], 1u << (row % 32));
    }
    __syncthreads();
  }
  if constexpr (kCount) atomicAdd(&counters->dominance_tests, tests);
}

}  // namespace skyrank::kernels::cuda::skyline::bitmap
