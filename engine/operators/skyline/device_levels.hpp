#pragma once

#include <cstdint>
#include <optional>

#include "engine/operators/skyline/levels.hpp"
#include "kernels/cuda/device/array.hpp"

namespace skyrank::exec {

/// The rows that a preference keeps, in the memory of the device.
struct DeviceKept {
  kernels::cuda::DeviceArray rows;    ///< indices into the keys, of type int64, ascending
  kernels::cuda::DeviceArray levels;  ///< level of each row, as int32; empty if all are on the first
  Vector<std::int64_t> bounds;        ///< bounds of the segments among the kept rows
};

/// Returns true if keep_best_on_device supports these.
bool can_keep_on_device(const SkylineKeys& keys, const LevelRule& rule);

/// Does what keep_best does, for a preference of one step and without `distinct`: only numbers of rows come to the
/// host. Returns nothing where there are so many levels that keep_best, which finds them at once on the host, is
/// faster.
std::optional<DeviceKept> keep_best_on_device(const SkylineKeys& keys, const Vector<std::int64_t>& bounds,
                                              const LevelRule& rule, SkylineSolver& solver, Report& report);

}  // namespace skyrank::exec
