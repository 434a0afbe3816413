#pragma once

#include <cstdint>

#include "kernels/cuda/skyline/solve.cuh"

// The first phase of skylines on the GPU: it drops rows that one well-placed row dominates, in two passes over the
// keys.
namespace skyrank::kernels::cuda::skyline {

/// Rows in device memory, ascending.
struct RowList {
  Buffer<std::uint32_t> rows;
  std::uint32_t count = 0;
};

/// Returns rows with a key whose rank is at most tau, the least over all rows of a row's greatest rank: the row that
/// has it dominates all others (Bøgh et al., PVLDB 2015, section 5.1; Algorithm 1, lines 1 and 2). The paper's columns
/// have one scale; ours need not, so that ranks in a sample of its column stand for a key. This is exact for any
/// sample. Waits for the device, which alone knows how many there are.
template <class Key>
RowList prefilter(SkylineRun& run, const KeyTable<Key>& table);

}  // namespace skyrank::kernels::cuda::skyline
