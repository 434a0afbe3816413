#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/common/host_device.hpp"
#include "kernels/cuda/device/kernel/block.cuh"

// Levels: every dimension is cut at 31 thresholds into 32, one for each lane of a warp, and a key's level is found by
// shuffles. Levels are packed into words of six, five bits each, so that a shift leaves a level where a shuffle looks
// for a lane.
namespace skyrank::kernels::cuda::skyline::bitmap {

inline constexpr int kLevels = 32;
inline constexpr int kLevelBits = 5;
inline constexpr int kLevelsOfWord = 6;

/// Words of so many levels.
SKYRANK_HD constexpr int level_words(int dims) { return (dims + kLevelsOfWord - 1) / kLevelsOfWord; }

__device__ inline std::uint32_t exchange(std::uint32_t value, unsigned lane) {
  return __shfl_sync(kAllLanes, value, static_cast<int>(lane));
}
__device__ inline std::uint64_t exchange(std::uint64_t value, unsigned lane) {
  return __shfl_sync(kAllLanes, static_cast<unsigned long long>(value), static_cast<int>(lane));
}

/// The number of thresholds at or below the key. Lane l > 0 holds threshold l of ascending ones; a whole warp calls.
template <class Key>
__device__ unsigned level_of(Key key, Key threshold) {
  unsigned level = 0;
#pragma unroll
  for (unsigned step = kLevels / 2; step > 0; step /= 2) {
    if (key >= exchange(threshold, level + step)) level += step;
  }
  return level;
}

/// The number of thresholds below the key, 0 to 32. Lane l holds threshold l of ascending ones.
template <class Key>
__device__ unsigned level_above(Key key, Key threshold) {
  unsigned level = 0;
#pragma unroll
  for (unsigned step = kLevels / 2; step > 0; step /= 2) {
    if (key > exchange(threshold, level + step - 1)) level += step;
  }
  const bool above_all = key > exchange(threshold, kLevels - 1);
  return above_all ? kLevels : level;
}

/// Lane l gets the set of those lanes whose level is at most l. `sets`: 32 words of shared memory of the warp's own.
__device__ inline std::uint32_t sets_by_level(unsigned level, bool taking, std::uint32_t* sets) {
  const unsigned lane = threadIdx.x % 32;
  sets[lane] = 0;
  __syncwarp();
  if (taking) atomicOr(&sets[level], 1u << lane);
  __syncwarp();
  std::uint32_t set = sets[lane];
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const std::uint32_t below = __shfl_up_sync(kAllLanes, set, step);
    if (lane >= step) set |= below;
  }
  __syncwarp();
  return set;
}

}  // namespace skyrank::kernels::cuda::skyline::bitmap
