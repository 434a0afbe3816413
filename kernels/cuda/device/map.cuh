#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/cuda/device/context.hpp"
#include "kernels/cuda/device/launch.cuh"

// Kernels that do the same to each of many elements, bound by memory.
namespace skyrank::kernels::cuda {

inline constexpr unsigned kMapItems = 4;                 ///< elements of a thread whose loads are under way at a time
inline constexpr std::size_t kMaxBlocksOfProcessor = 8;  ///< blocks that a multiprocessor has threads for
inline constexpr std::size_t kMapTile = std::size_t{kMapThreads} * kMapItems;

/// Makes a grid for `for_all`: blocks for n elements, but no more than the device holds at a time.
inline Grid few_each(std::size_t n, const DeviceStream& device) {
  const std::size_t resident = kMaxBlocksOfProcessor * device.properties.multiprocessors;
  return {.blocks = std::min(blocks_for(n, kMapTile), resident), .threads = kMapThreads};
}

/// Calls `body(i)` for all of [0, n), neighbours for neighbouring threads of a grid of `few_each`.
template <class Body>
__device__ void for_all(std::size_t n, Body body) {
  for (std::size_t first = blockIdx.x * kMapTile; first < n; first += gridDim.x * kMapTile) {
#pragma unroll
    for (unsigned item = 0; item < kMapItems; ++item) {
      const std::size_t i = first + item * kMapThreads + threadIdx.x;
      if (i < n) body(i);
    }
  }
}

}  // namespace skyrank::kernels::cuda
