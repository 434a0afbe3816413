#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/common/problem.hpp"

// Many rankings at once, for those who know nothing of CUDA.
namespace skyrank::kernels::cuda::topk {

/// The k best rows of each of several stretches of consecutive rows, by one column in the memory of device 0, in the
/// process's own context.
struct PartitionProblem {
  KeyColumn keys;                        ///< keys of 4 or 8 bytes, of bounds.back() rows
  std::span<const std::int64_t> bounds;  ///< partition i is [bounds[i], bounds[i + 1])
  std::size_t k = 0;                     ///< at most kMaxOfPartition
  TieRule ties = TieRule::first;         ///< not `all`
};

inline constexpr std::size_t kMaxOfPartition = 1024;

/// Row ids from k * i on for partition i, best first; -1 behind those of a partition with fewer rows. One launch.
/// Throws Failure and OutOfMemory.
Vector<RowId> best_of_partitions(const PartitionProblem& problem);

}  // namespace skyrank::kernels::cuda::topk
