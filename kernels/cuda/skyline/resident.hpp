#pragma once

#include <cstddef>

#include "kernels/common/algorithm.hpp"
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

/// Runs an algorithm like its `run`, on the process's own context; only the size of the answer comes to the host.
using RunResident = SkylineRows (*)(const SkylineProblem& problem, const ParameterValues& parameters,
                                    const Context& context, bool with_others);

/// Null for algorithms of the CPU.
RunResident run_resident_of(const SkylineAlgorithm& algorithm);

}  // namespace skyrank::kernels::cuda::skyline
