#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/skyline/bitmap/candidates.cuh"
#include "kernels/cuda/skyline/bitmap/prefilter.cuh"

// Order for few rows, where the passes of a sort would take longer than all else: by the first bits of the z-order
// only. Each row counts itself in its cell when its code is made, and finds its place from the sizes of the cells
// before.
namespace skyrank::kernels::cuda::skyline::bitmap {

inline constexpr unsigned kCellThreads = CellPolicy::kThreads;

/// Writes the places of rows, of whose codes only the cell is set, and whose `unsorted.order` is the number of rows
/// that came before them into the cell.
static __global__ void __launch_bounds__(kCellThreads)
    place_by_cells(const __grid_constant__ Candidates rows, const __grid_constant__ Unsorted unsorted,
                   const std::uint32_t* cells, std::uint32_t* order) {
  constexpr unsigned kEach = kCells / kCellThreads;
  __shared__ std::uint32_t begins[kCells];
  __shared__ unsigned sums[32];
  follow_previous();
  const unsigned first = threadIdx.x * kEach;
  std::uint32_t sizes[kEach];
  unsigned own = 0;
#pragma unroll
  for (unsigned i = 0; i < kEach; ++i) {
    sizes[i] = cells[first + i];
    own += sizes[i];
  }
  std::uint32_t begin = sum_before(own, sums);
#pragma unroll
  for (unsigned i = 0; i < kEach; ++i) {
    begins[first + i] = begin;
    begin += sizes[i];
  }
  __syncthreads();
  const std::uint32_t i = blockIdx.x * kCellThreads + threadIdx.x;
  if (i >= rows.count) return;
  const std::uint64_t code = unsorted.codes[i];
  const std::uint32_t place = begins[code >> cell_shift(rows.d)] + unsorted.order[i];
  rows.codes[place] = code;
  order[place] = i;
}

}  // namespace skyrank::kernels::cuda::skyline::bitmap
