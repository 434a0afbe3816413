#pragma once

#include <cstddef>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/device/array.hpp"

// Skylines whose rows stay on the device, for those who know nothing of CUDA.
namespace skyrank::kernels::cuda::skyline {

/// Positions in [0, n), ascending, of type RowId, in the memory of device 0.
struct SkylineRows {
  DeviceArray rows;
  std::size_t count = 0;
  DeviceArray others;  ///< the n - count rows that are dominated; empty unless asked for
  Work work = {};
  DeviceTimes times = {};
};

}  // namespace skyrank::kernels::cuda::skyline
