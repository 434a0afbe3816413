#pragma once

#include <cstddef>

#include "kernels/common/algorithm.hpp"

namespace skyrank::kernels::skyline {

inline constexpr std::size_t kMaxSweptColumns = 3;

/// Sweeps one to three columns (sweep.cpp).
extern const SkylineAlgorithm sweep;

}  // namespace skyrank::kernels::skyline
