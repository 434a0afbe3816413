#pragma once

#include <cstddef>
#include <span>

#include "kernels/common/problem.hpp"

// Hypervolumes found on the selected GPU. Plain C++; what each function returns is the same in every run, and that of
// kernels/cpu/indicators up to rounding.
namespace skyrank::kernels::cuda {

/// Points in the host's memory, row by row, `dims` finite values each. All objectives are minimised.
struct FrontRows {
  const double* values = nullptr;
  std::size_t size = 0;
  std::size_t dims = 0;

  const double* operator[](std::size_t point) const { return values + point * dims; }
};

/// Numbers of points and dimensions for which there are kernels.
inline constexpr std::size_t kMaxFrontRows = 65'534;
inline constexpr std::size_t kMinHypervolumeDims = 5;
inline constexpr std::size_t kMinContributionDims = 4;

/// Points that a warp compares with in one launch, about, so that a stop request is heard within a tenth of a second.
inline constexpr unsigned kMaxSteps = 1u << 17;

/// Returns the volume of what some point dominates up to `reference`, a value for each objective. Points that are not
/// less than it in every objective count for nothing. Throws Failure, OutOfMemory and Cancelled.
double hypervolume(const FrontRows& points, const double* reference, const Context& context,
                   unsigned max_steps = kMaxSteps);

/// Writes the volume that each point alone adds to that of all points, 0 for dominated points and for those that occur
/// more than once. `keeps_dominated`: dominated points reduce the volume of a point that alone dominates them.
void hypervolume_contributions(const FrontRows& points, const double* reference, bool keeps_dominated,
                               std::span<double> contributions, const Context& context, unsigned max_steps = kMaxSteps);

}  // namespace skyrank::kernels::cuda
