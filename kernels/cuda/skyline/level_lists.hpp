#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device/array.hpp"

// Lists the rows of each Pareto level, on device 0 and the process's own context, for callers without CUDA. All
// functions throw Failure and OutOfMemory.
namespace skyrank::kernels::cuda::skyline {

/// A level for each of n rows, of type int32: 0, which is none. n < 2^31.
DeviceArray no_levels(std::size_t n);

/// Gives the rows `first` + rows[i], 0 <= i < count, a level; `rows` holds values of type int64.
void set_levels(const DeviceArray& levels, std::size_t first, const DeviceArray& rows, std::size_t count,
                std::int32_t level);

/// The `count` of n rows that have a level, ascending, of type int64, and the level of each.
struct LeveledRows {
  DeviceArray rows;
  DeviceArray levels;
};

LeveledRows rows_with_levels(const DeviceArray& levels, std::size_t n, std::size_t count);

}  // namespace skyrank::kernels::cuda::skyline
