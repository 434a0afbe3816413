#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/array.hpp"
#include "kernels/cuda/runtime/scope.hpp"

// The skyline of rows that are spread over several GPUs, found by all of them together: none finds a skyline of its
// own rows first, which helps only where that leaves few of them. Plain C++: in a build without CUDA it is refused.
namespace skyrank::kernels::cuda::skyline {

/// The rows of one GPU.
struct TeamShare {
  SelectedDevice device;
  std::size_t n = 0;
  std::vector<KeyColumn> keys;  ///< in the memory of the device; widths are the same for all shares
};

/// The findings of a team.
struct TeamRows {
  /// Rows of each share in the skyline of all, ascending, in the order of its device's stream: positions of type RowId
  /// in the whole, which begins with the first share.
  std::vector<DeviceArray> rows;
  std::vector<std::size_t> counts;  ///< numbers of rows of each share
  std::vector<std::size_t> left;    ///< rows of each share that took part in comparisons with those of others
  Work work = {};
};

/// Finds the rows that no row of any share dominates, by one flat Pareto order over columns of 4 or 8 bytes. Devices
/// differ from each other; all shares together have fewer than 2^31 rows. Waits for the devices. Throws Failure,
/// OutOfMemory and Cancelled.
TeamRows find_skyline_as_team(std::span<const TeamShare> shares, KeyWidth width, const Context& context);

}  // namespace skyrank::kernels::cuda::skyline
