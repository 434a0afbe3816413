#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/problem.hpp"
#include "kernels/cuda/indicators/volumes.hpp"

// Distances between sets of points, found on the selected GPU. Plain C++; what it returns is that of
// kernels/cpu/indicators, bit by bit.
namespace skyrank::kernels::cuda {

/// How far a point is from one of a reference set.
enum class PointDistance : std::uint8_t {
  squared,        ///< sum of squared differences
  squared_worse,  ///< the same of the objectives in which the point is worse
  difference,     ///< greatest difference: point - reference
  ratio           ///< greatest ratio: point / reference
};

/// Returns, for each point of `reference_set`, the least distance of one or more points. Throws Failure, OutOfMemory
/// and Cancelled.
std::vector<double> least_distances(PointDistance distance, const FrontRows& points, const FrontRows& reference_set,
                                    const Context& context);

}  // namespace skyrank::kernels::cuda
