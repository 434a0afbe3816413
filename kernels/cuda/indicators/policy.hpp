#pragma once

#include <cstddef>

// The tuning constants of indicators.
namespace skyrank::kernels::cuda::indicators {

struct VolumePolicy {
  static constexpr unsigned kWarps = 4;  ///< warps of a block, each with a task of its own
  /// Points up to which volumes are summed over all their subsets, one a lane.
  static constexpr unsigned kMaxSubsetPoints = 5;
  /// Points of four dimensions up to which the volume is a sum over a grid, instead of slices.
  static constexpr unsigned kMaxGridPoints = 24;
  /// Shared memory of a warp, at most; levels of more dimensions lie in global memory.
  static constexpr std::size_t kSharedBytesOfWarp = std::size_t{12} << 10;
  /// Memory for the limit sets that one launch works on, at most.
  static constexpr std::size_t kBatchBytes = std::size_t{256} << 20;
};

struct DistancePolicy {
  static constexpr unsigned kThreads = 128;
  static constexpr unsigned kReferences = 8;  ///< reference points of a block, for which each point is read once
  /// Values of points that are compared in one launch, at most: some hundredths of a second.
  static constexpr std::size_t kMaxValues = std::size_t{1} << 34;
};

}  // namespace skyrank::kernels::cuda::indicators
