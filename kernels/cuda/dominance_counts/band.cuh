#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.hpp"
#include "kernels/cuda/device/kernel/block.cuh"
#include "kernels/cuda/device/kernel/shared.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/skyline/solve.cuh"

// Leaves out rows that enough rows of a sample dominate, as kernels/cpu/dominance_counts/prefilter.cpp does: they are
// in no skyband, and no row of it needs them, as its dominators are in it.
namespace skyrank::kernels::cuda::dominance_counts {

using skyline::KeyTable;

/// Sets the bit of each row that fewer than `enough` of the judges dominate. A block has their keys in shared memory.
template <class Key>
__global__ void __launch_bounds__(kMapThreads)
    mark_left(const __grid_constant__ KeyTable<Key> table, const std::uint32_t* judges, unsigned num_judges,
              unsigned enough, std::uint32_t* left) {
  Key* const keys = dynamic_shared<Key>();
  const auto d = static_cast<unsigned>(table.d);
  for (unsigned i = threadIdx.x; i < num_judges * d; i += kMapThreads) keys[i] = table.columns[i % d][judges[i / d]];
  __syncthreads();
  for (std::size_t first = std::size_t{blockIdx.x} * kMapThreads; first < table.n;
       first += std::size_t{gridDim.x} * kMapThreads) {
    const std::size_t row = first + threadIdx.x;
    unsigned found = row < table.n ? 0 : enough;
    for (unsigned judge = 0; judge < num_judges && found < enough; ++judge) {
      bool better = false;
      unsigned k = 0;
      for (; k < d; ++k) {
        const Key own = table.columns[k][row];
        const Key its = keys[judge * d + k];
        if (its > own) break;
        better |= its < own;
      }
      found += k == d && better ? 1 : 0;
    }
    const unsigned lanes = __ballot_sync(kAllLanes, found < enough);
    if (threadIdx.x % kLanes == 0 && row < table.n) left[row / kLanes] = lanes;
  }
}

/// Copies the keys of `count` rows, column by column.
template <class Key>
__global__ void __launch_bounds__(kMapThreads)
    take_rows(const __grid_constant__ KeyTable<Key> table, const std::uint32_t* rows, std::uint32_t count, Key* taken) {
  const std::size_t i = std::size_t{blockIdx.x} * kMapThreads + threadIdx.x;
  if (i >= count) return;
  for (int k = 0; k < table.d; ++k) taken[static_cast<std::size_t>(k) * count + i] = table.columns[k][rows[i]];
}

/// Holds for rows whose numbers are below a limit.
struct IsBelow {
  const std::uint32_t* counts;
  std::uint32_t limit;

  SKYRANK_HD bool operator()(std::size_t i) const { return counts[i] < limit; }
};

}  // namespace skyrank::kernels::cuda::dominance_counts
