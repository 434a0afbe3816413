#pragma once

#include <algorithm>

#include "planner/cost/cuda_common.hpp"

namespace skyrank::planner::cost {

/// What taking the k best out of all keys costs besides reading these, in bytes of device memory: tiles of keys that
/// have some take longer, and those taken are written one by one. From an H200's times.
inline double taking_bytes(const kernels::TopKShape& shape) {
  constexpr double kTile = 4096;
  constexpr double kTileLonger = 0.7;
  constexpr double kOfRow = 200;
  const double touched = std::min(static_cast<double>(shape.n), kTile * wanted(shape));
  return kTileLonger * touched * packed_bytes(shape) + kOfRow * wanted(shape);
}

}  // namespace skyrank::planner::cost
