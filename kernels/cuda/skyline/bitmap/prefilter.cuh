#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/scan.cuh"
#include "kernels/cuda/skyline/bitmap/candidates.cuh"
#include "kernels/cuda/skyline/bitmap/policy.hpp"
#include "kernels/cuda/skyline/bitmap/sample.cuh"

// The prefilter: the 1024 rows of the least level sums, the elite, against all rows.
namespace skyrank::kernels::cuda::skyline::bitmap {

inline constexpr unsigned kElite = PrefilterPolicy::kElite;
inline constexpr unsigned kScores = PrefilterPolicy::kScores;
inline constexpr unsigned kRowThreads = PrefilterPolicy::kRowThreads;

/// Counts of the prefilter in device memory; zero before it.
struct PrefilterState {
  std::uint32_t survivors;
  std::uint32_t elite;   ///< may exceed kElite, of which only so many were noted
  std::uint32_t cutoff;  ///< the elite's scores are below it
  std::uint32_t blocks_done;
  std::uint32_t histogram[kScores];
};

/// Levels below that of the sample's least key, continued at the slope of the first.
inline constexpr float kLevelsBelow = 4;

/// A row's score: the sum over dimensions of a key's place among the thresholds, interpolated, in kScores steps.
template <class Key>
__device__ unsigned score_row(const KeyTable<Key>& table, const Key* thresholds, const float* slopes,
                              std::uint32_t row) {
  const unsigned lane = threadIdx.x % 32;
  float sum = 0;
#pragma unroll 4
  for (int j = 0; j < table.d; ++j) {
    const Key key = table.columns[j][row];
    const Key threshold = thresholds[j * kLevels + static_cast<int>(lane)];
    const unsigned level = level_of(key, threshold);
    const Key begin = exchange(threshold, level);
    const float slope = __shfl_sync(kAllLanes, slopes[j * kLevels + static_cast<int>(lane)], static_cast<int>(level));
    const float past = key >= begin ? static_cast<float>(key - begin) : -static_cast<float>(begin - key);
    sum += static_cast<float>(level) + fminf(fmaxf(past * slope, -kLevelsBelow), 1.0F);
  }
  const auto d = static_cast<float>(table.d);
  const float scale = static_cast<float>(kScores) / ((kLevels + kLevelsBelow) * d);
  const float score = (sum + kLevelsBelow * d) * scale;
  return static_cast<unsigned>(fminf(fmaxf(score, 0.0F), static_cast<float>(kScores - 1)));
}

/// Scores all rows; the last block to be done finds the elite's cutoff.
template <class Key>
__global__ void __launch_bounds__(kRowThreads)
    score_rows(const __grid_constant__ KeyTable<Key> table, const Key* thresholds, const float* slopes,
               std::uint16_t* scores, PrefilterState* state) {
  __shared__ std::uint32_t histogram[kScores];
  follow_previous();
  for (unsigned s = threadIdx.x; s < kScores; s += kRowThreads) histogram[s] = 0;
  __syncthreads();
  for (std::uint64_t first = std::uint64_t{blockIdx.x} * kRowThreads; first < table.n;
       first += std::uint64_t{gridDim.x} * kRowThreads) {
    const std::uint64_t row = first + threadIdx.x;
    const bool taking = row < table.n;
    const unsigned score = score_row(table, thresholds, slopes, static_cast<std::uint32_t>(taking ? row : table.n - 1));
    if (!taking) continue;
    scores[row] = static_cast<std::uint16_t>(score);
    atomicAdd(&histogram[score], 1u);
  }
  __syncthreads();
  for (unsigned s = threadIdx.x; s < kScores; s += kRowThreads) {
    if (histogram[s] != 0) atomicAdd(&state->histogram[s], histogram[s]);
  }
  if (!last_block(&state->blocks_done)) return;
  constexpr unsigned kEach = kScores / kRowThreads;
  unsigned own = 0;
  const unsigned begin = threadIdx.x * kEach;
  for (unsigned s = begin; s < begin + kEach; ++s) own += atomicAdd(&state->histogram[s], 0u);
  unsigned all = 0;
  unsigned rows = sum_before<kRowThreads>(own, all);
  // The elite ends before the score that makes it too large, unless it would be too small then.
  for (unsigned s = begin; s < begin + kEach; ++s) {
    const unsigned here = atomicAdd(&state->histogram[s], 0u);
    if (rows <= kElite && rows + here > kElite) state->cutoff = rows < kElite / 2 ? s + 1 : s;
    rows += here;
  }
  if (threadIdx.x == kRowThreads - 1 && rows <= kElite) state->cutoff = kScores;
}

/// Notes the rows whose score is below the cutoff.
static __global__ void collect_elite(const std::uint16_t* scores, std::uint32_t n, PrefilterState* state,
                                     std::uint32_t* elite) {
  constexpr unsigned kEach = PrefilterPolicy::kScoresOfThread;
  follow_previous();
  const unsigned cutoff = state->cutoff;
  const std::uint64_t first = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kEach;
  if (first >= n) return;
  const uint4 packed = *reinterpret_cast<const uint4*>(scores + first);
  const std::uint32_t words[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
  for (unsigned i = 0; i < kEach; ++i) {
    const unsigned score = words[i / 2] >> (16 * (i % 2)) & 0xffffu;
    if (score >= cutoff || first + i >= n) continue;
    if (*static_cast<const volatile std::uint32_t*>(&state->elite) >= kElite) return;
    const std::uint32_t place = atomicAdd(&state->elite, 1u);
    if (place < kElite) elite[place] = static_cast<std::uint32_t>(first + i);
  }
}

/// Block j makes dimension j of the elite's bitmaps: thresholds[32 j + l], ascending, the last its largest key; word
/// [32 (gridDim.x b + j) + l] of `sets` is the set of those of the elite's rows 32 b to 32 b + 31 that are at or below
/// threshold l. From d on, all are.
template <class Key>
__global__ void __launch_bounds__(kElite)
    cut_elite(const __grid_constant__ KeyTable<Key> table, const std::uint32_t* elite, const PrefilterState* state,
              Key* thresholds, std::uint32_t* sets) {
  __shared__ Key places[kElite];
  __shared__ std::uint32_t scratch[kElite];
  follow_previous();
  const int j = static_cast<int>(blockIdx.x);
  const unsigned i = threadIdx.x;
  const unsigned lane = i % 32;
  std::uint32_t& set = sets[((i / 32) * gridDim.x + blockIdx.x) * kLevels + lane];
  if (j >= table.d) {
    set = ~0u;
    return;
  }
  const unsigned count = state->elite < kElite ? state->elite : kElite;
  const Key key = i < count ? table.columns[j][elite[i]] : ~Key{0};
  places[i] = key;
  __syncthreads();
  sort_in_block<kElite>(places, kElite);
  const unsigned rank = count * (lane + 1) / kLevels;
  const Key threshold = places[rank == 0 ? 0 : rank - 1];
  if (i < kLevels) thresholds[j * kLevels + static_cast<int>(lane)] = threshold;
  const unsigned level = level_above(key, threshold);
  set = sets_by_level(level, i < count, scratch + (i - lane));
}

inline constexpr unsigned kSpareThreads = PrefilterPolicy::kSpareThreads;
inline constexpr unsigned kFew = FewPolicy::kMax;
inline constexpr int kFewStride = 4;  ///< the stride of their rows is a multiple of it

/// Bytes of the bitmaps of so many blocks of the elite.
constexpr std::size_t elite_bytes(int dims, int blocks) {
  return static_cast<std::size_t>(blocks) * static_cast<std::size_t>(dims) * kLevels * sizeof(std::uint32_t);
}

/// Shared memory of spare_rows besides that: for sums, and a word.
inline constexpr std::size_t kSpareRowsBytes = kScanBytes<kSpareThreads, unsigned> + alignof(uint4);

/// The output of spare_rows, besides the state.
template <class Key>
struct Spared {
  std::uint32_t* rows;  ///< in any order
  Key* few;             ///< kFew x stride: the keys of the first of them, padded with zeros
  int stride;
};

/// Writes the rows that the elite may not dominate. A row of the elite that is at or below a threshold below the row's
/// key, in every dimension, dominates the row; other dominance goes unnoticed. kDims: at least d, of the bitmaps.
template <class Key, int kDims>
__global__ void __launch_bounds__(kSpareThreads)
    spare_rows(const __grid_constant__ KeyTable<Key> table, const Key* thresholds, const std::uint32_t* elite_sets,
               int blocks, PrefilterState* state, const __grid_constant__ Spared<Key> spared) {
  auto* const sets = dynamic_shared<std::uint32_t>();
  __shared__ std::uint32_t base;
  follow_previous();
  const int d = table.d;
  const unsigned lane = threadIdx.x % 32;
  const unsigned elite = state->elite < kElite ? state->elite : kElite;
  const int used = static_cast<int>((elite + 31) / 32) < blocks ? static_cast<int>((elite + 31) / 32) : blocks;
  for (unsigned i = threadIdx.x; i < static_cast<unsigned>(used * kDims * kLevels) / 4; i += kSpareThreads) {
    reinterpret_cast<uint4*>(sets)[i] = reinterpret_cast<const uint4*>(elite_sets)[i];
  }
  __syncthreads();
  for (std::uint64_t first = std::uint64_t{blockIdx.x} * kSpareThreads; first < table.n;
       first += std::uint64_t{gridDim.x} * kSpareThreads) {
    const std::uint64_t row = first + threadIdx.x;
    bool kept = row < table.n;
    const std::uint64_t read = kept ? row : table.n - 1;
    bool above = kept;  // above some threshold in every dimension
    int place[kDims];   // of the word for the row's level
#pragma unroll
    for (int j = 0; j < kDims; ++j) {
      place[j] = j * kLevels;
      if (j >= d) continue;
      const unsigned level = level_above(table.columns[j][read], thresholds[j * kLevels + static_cast<int>(lane)]);
      above = above && level > 0;
      place[j] += level > 0 ? static_cast<int>(level) - 1 : 0;
    }
    const std::uint32_t* block = sets;
    for (int b = 0; b < used && __any_sync(kAllLanes, above) != 0; ++b, block += kDims * kLevels) {
      std::uint32_t dominators = ~0u;
#pragma unroll
      for (int j = 0; j < kDims; ++j) dominators &= block[place[j]];
      if (!above || dominators == 0) continue;
      above = false;
      kept = false;
    }
    unsigned all = 0;
    const unsigned before = sum_before<kSpareThreads>(kept ? 1u : 0u, all);
    if (threadIdx.x == 0) base = atomicAdd(&state->survivors, all);
    __syncthreads();
    const std::uint32_t at = base + before;
    if (kept) spared.rows[at] = static_cast<std::uint32_t>(row);
    if (kept && at < kFew) {
      Key* const to = spared.few + std::size_t{at} * static_cast<unsigned>(spared.stride);
      for (int j = 0; j < spared.stride; ++j) to[j] = j < d ? table.columns[j][row] : 0;
    }
  }
}

}  // namespace skyrank::kernels::cuda::skyline::bitmap
