#pragma once

#include <cstddef>

// The tuning constants of kernels that number, bring together and count rows by their groups. GPUs of all architectures
// run with the same ones.
namespace skyrank::kernels::cuda::groups {

/// Kernels that pass over all rows once, bound by memory.
struct RowPolicy {
  static constexpr unsigned kThreads = 256;
  static constexpr unsigned kBlocks = 8;  ///< blocks of a multiprocessor: all that its threads have room for
};

/// The kernel that adds up values by partition.
struct AggregatePolicy {
  static constexpr unsigned kThreads = 256;
  static constexpr unsigned kBlocks = 8;  ///< blocks of a multiprocessor
  /// Neighbouring rows of a warp: few atomic operations for a large partition, and work for all warps of a small table.
  static constexpr std::size_t kRowsOfWarp = 1024;
};

}  // namespace skyrank::kernels::cuda::groups
