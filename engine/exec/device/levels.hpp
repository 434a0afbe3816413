#pragma once

#include <cstdint>
#include <optional>

#include "engine/exec/levels.hpp"
#include "kernels/cuda/device/array.hpp"

namespace skyrank::exec {

/// What a preference keeps, in the memory of the device.
struct DeviceKept {
  kernels::cuda::DeviceArray rows;    ///< indices into the keys, of type int64, ascending
  kernels::cuda::DeviceArray levels;  ///< of each, of type int32; empty where all are on the first
  Vector<std::int64_t> bounds;        ///< of the segments among the kept rows
};

/// Whether keep_best_on_device takes these.
bool can_keep_on_device(const SkylineKeys& keys, const LevelRule& rule);

/// Does the same as keep_best for a preference of one step without `distinct`; only numbers of rows come to the host.
/// Returns nothing if there are so many levels that keep_best, which finds them at once on the host, is faster.
std::optional<DeviceKept> keep_best_on_device(const SkylineKeys& keys, const Vector<std::int64_t>& bounds,
                                              const LevelRule& rule, SkylineSolver& solver, Report& report);

}  // namespace skyrank::exec
