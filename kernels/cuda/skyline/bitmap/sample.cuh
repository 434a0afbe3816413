#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/device/kernel/block_sort.cuh"
#include "kernels/cuda/skyline/bitmap/levels.cuh"
#include "kernels/cuda/skyline/overlap.cuh"
#include "kernels/cuda/skyline/sampled_row.hpp"
#include "kernels/cuda/skyline/solve.cuh"

// Samples of rows and what is learned from them. Exactness never depends on a sample.
namespace skyrank::kernels::cuda::skyline::bitmap {

inline constexpr unsigned kSampleRows = 1024;  ///< a thread each

/// Block j cuts dimension j at the quantiles of a sample of the rows `ids` (null: all), of which there are n > 0:
/// thresholds[32 j + l] is the l-th, and for l = 0 the least key of the sample; slopes[32 j + l] (null: not asked for)
/// is the level that a key past that threshold gains.
template <class Key>
__global__ void __launch_bounds__(kSampleRows)
    cut_dimensions(const __grid_constant__ KeyTable<Key> table, const std::uint32_t* ids, std::uint32_t n,
                   Key* thresholds, float* slopes) {
  __shared__ Key places[kSampleRows];
  follow_previous();
  const unsigned j = blockIdx.x;
  const unsigned i = threadIdx.x;
  const unsigned count = n < kSampleRows ? n : kSampleRows;
  Key key = ~Key{0};
  if (i < count) {
    const std::uint32_t row = sampled_row(n, i, count);
    key = table.columns[j][ids == nullptr ? row : ids[row]];
  }
  places[i] = key;
  __syncthreads();
  sort_in_block<kSampleRows>(places, kSampleRows);
  if (i >= kLevels) return;
  const Key threshold = places[count * i / kLevels];
  thresholds[j * kLevels + i] = threshold;
  if (slopes == nullptr) return;
  const Key width = i + 1 < kLevels ? places[count * (i + 1) / kLevels] - threshold : 0;
  slopes[j * kLevels + i] = width > 0 ? 1 / static_cast<float>(width) : 0;
}

}  // namespace skyrank::kernels::cuda::skyline::bitmap
