#pragma once

#include <cstdint>

#include "kernels/cuda/skyline/solve.cuh"

namespace skyrank::kernels::cuda::skyline {

/// Rows in device memory, ascending.
struct RowList {
  Buffer<std::uint32_t> rows;
  std::uint32_t count = 0;
};

/// Rows with a key of at most tau, the least over all rows of a row's greatest key: the row that has it dominates all
/// others (Bøgh et al., PVLDB 2015, section 5.1; Algorithm 1, lines 1 and 2). Keys of different columns are compared as
/// they are, which is right for any, and strong where columns have one scale. Waits for the device, which alone knows
/// how many there are.
template <class Key>
RowList prefilter(SkylineRun& run, const KeyTable<Key>& table);

}  // namespace skyrank::kernels::cuda::skyline
