#pragma once

#include <algorithm>

#include "planner/cost/cuda_common.hpp"

namespace skyrank::planner::cost {

/// Returns the cost of taking the k best out of all keys besides reading them, in bytes of device memory: tiles of keys
/// that have some take longer, and selected keys are written one by one. Measured on an H200.
inline double taking_bytes(const kernels::TopKShape& shape) {
  constexpr double kTile = 4096;
  constexpr double kTileLonger = 0.7;
  constexpr double kOfRow = 200;
  const double touched = std::min(static_cast<double>(shape.n), kTile * wanted(shape));
  return kTileLonger * touched * packed_bytes(shape) + kOfRow * wanted(shape);
}

}  // namespace skyrank::planner::cost
