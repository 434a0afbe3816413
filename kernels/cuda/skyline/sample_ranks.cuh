#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/skyline/solve.cuh"

// Ranks of keys in a sample of their column. Keys of different columns have no common unit: a price that is to be low
// and a rating that is to be high lie in different parts of the range of keys. Their ranks can be compared and added.
namespace skyrank::kernels::cuda::skyline {

inline constexpr unsigned kSampleRanks = 1024;

/// The sampled keys of all columns in device memory, ascending within each: kSampleRanks a column. Where there are
/// fewer rows, the greatest key fills the rest.
template <class Key>
struct SampleRanks {
  const Key* keys;

  __device__ Key key_of(int column, unsigned rank) const {
    return keys[static_cast<unsigned>(column) * kSampleRanks + rank];
  }

  /// Returns how many sampled keys of the column are below `key`, 0 to kSampleRanks.
  __device__ unsigned rank_of(int column, Key key) const {
    const Key* const sample = keys + static_cast<unsigned>(column) * kSampleRanks;
    unsigned rank = 0;
#pragma unroll
    for (unsigned step = kSampleRanks / 2; step > 0; step /= 2) {
      if (sample[rank + step - 1] < key) rank += step;
    }
    return rank + (sample[rank] < key ? 1 : 0);
  }
};

/// Samples the rows of a table.
template <class Key>
Buffer<Key> sample_ranks(SkylineRun& run, const KeyTable<Key>& table);

}  // namespace skyrank::kernels::cuda::skyline
