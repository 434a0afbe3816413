#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/skyline/prefilter.hpp"

// The static grid of Bøgh et al., PVLDB 2015, section 4.2: rows in the order of its cells, on the device.
namespace skyrank::kernels::cuda::skyline {

inline __device__ int population(std::uint32_t mask) { return __popc(mask); }
inline __device__ int population(std::uint64_t mask) { return __popcll(mask); }

/// Rows by (population of the median mask, that mask).
template <class Key, class Mask>
struct GridRows {
  Mask* median;         ///< bit c: key c is above the median of its column
  Mask* quartile;       ///< bit c: above the third quartile if above the median, else above the first
  std::uint32_t* rows;  ///< row ids of the problem
  Key* keys;            ///< keys of each row side by side, as many as padded_dims says
};

/// Cells that have rows, in the order of the rows.
template <class Mask>
struct GridCells {
  const Mask* masks;                 ///< median masks
  const std::uint32_t* level_first;  ///< for each population from 0 to d + 1, the first cell of at least that one
  const std::uint32_t* count;
};

template <class Key, class Mask>
class GridMemory {
 public:
  GridMemory(SkylineRun& run, std::size_t count, int stride)
      : half_((count + kRoom) / 4 * 4),
        masks_(run.allocate<Mask>(2 * half_)),
        rows_(run.allocate<std::uint32_t>(count)),
        keys_(run.allocate<Key>(count * static_cast<std::size_t>(stride))) {}

  GridRows<Key, Mask> view() const { return {masks_.data() + half_, masks_.data(), rows_.data(), keys_.data()}; }

 private:
  static constexpr std::size_t kRoom = 40;  ///< for wide loads that begin before the last mask

  std::size_t half_;  ///< half of the masks: a multiple of 16 bytes
  Buffer<Mask> masks_;
  Buffer<std::uint32_t> rows_;
  Buffer<Key> keys_;
};

template <class Key, class Mask>
struct CellGrid {
  GridMemory<Key, Mask> rows;
  Buffer<Mask> masks;
  Buffer<std::uint32_t> starts;       ///< starts of the cells' rows, and the end
  Buffer<std::uint32_t> level_first;  ///< the array of GridCells, and the number of cells
  std::size_t most_cells;

  GridCells<Mask> cells() const {
    return {masks.data(), level_first.data(), level_first.data() + level_first.size() - 1};
  }
};

/// Puts the rows of a list of at least one into the grid. Mask has at least as many bits as there are columns.
template <class Key, class Mask>
CellGrid<Key, Mask> make_grid(SkylineRun& run, const KeyTable<Key>& table, RowList list);

}  // namespace skyrank::kernels::cuda::skyline
