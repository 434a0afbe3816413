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

/// Returns true if `other` dominates the thread's own row. It has no branches if the length is known, so that the loads
/// of several rows overlap.
template <class Key, int kDims>
__device__ bool dominates_own(const Key* other, const OwnRow<Key, kDims>& own) {
  if constexpr (kDims == 0) {
    return at_least_as_good(other, own) && differs(other, own);
  } else {
    bool worse = false;
    bool better = false;
#pragma unroll
    for (int c = 0; c < kDims; c += kChunkKeys<Key>) {
      const Chunk<Key> its = load_chunk(other + c);
      const Chunk<Key> mine = own.chunk(c);
#pragma unroll
      for (int i = 0; i < kChunkKeys<Key>; ++i) {
        worse |= its.keys[i] > mine.keys[i];
        better |= its.keys[i] < mine.keys[i];
      }
    }
    return better && !worse;
  }
}

/// Marks the members among the survivors, if there are at most `most` of them, which is no more than kFew. kDims: the
/// rows' stride, or 0.
template <class Key, int kDims, bool kCount>
__global__ void __launch_bounds__(kFewThreads)
    settle_few(const __grid_constant__ Spared<Key> spared, std::uint32_t most, const PrefilterState* state,
               std::uint32_t* members, TestCounters* counters) {
  constexpr unsigned kOthers = kFewThreads / kFewRows;  // that a block meets at a time
  constexpr unsigned kAtOnce = kDims == 0 ? 1 : kDims * sizeof(Key) <= 32 ? 4 : 2;
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
    OwnRow<Key, kDims> own;
    own.load(row_at(first + threadIdx.x % kFewRows), spared.stride);
    for (std::uint32_t other = threadIdx.x / kFewRows; other < count; other += kOthers * kAtOnce) {
      bool found = false;
#pragma unroll
      for (unsigned i = 0; i < kAtOnce; ++i) found |= dominates_own(row_at(other + i * kOthers), own);
      if constexpr (kCount) tests += min(kAtOnce, (count - other + kOthers - 1) / kOthers);
      if (found) atomicOr(&dominated, own_bit);
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

template <class Key>
using SettleFew = void (*)(Spared<Key>, std::uint32_t, const PrefilterState*, std::uint32_t*, TestCounters*);

template <class Key, bool kCount>
SettleFew<Key> settle_few_for(int stride) {
  switch (stride) {
    case 4: return settle_few<Key, 4, kCount>;
    case 8: return settle_few<Key, 8, kCount>;
    case 12: return settle_few<Key, 12, kCount>;
    case 16: return settle_few<Key, 16, kCount>;
    default: return settle_few<Key, 0, kCount>;
  }
}

}  // namespace skyrank::kernels::cuda::skyline::bitmap
