#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/common/problem.hpp"

// Many rankings at once, for those who know nothing of CUDA.
namespace skyrank::kernels::cuda::select {

/// The k best rows of each of several stretches of consecutive rows, by one column in the memory of device 0, in the
/// process's own context.
struct PartitionProblem {
  KeyColumn keys;                        ///< keys of bounds.back() rows, in device memory
  std::span<const std::int64_t> bounds;  ///< partition i is [bounds[i], bounds[i + 1]), fewer than 2^31 rows
  std::size_t k = 0;                     ///< at most kMaxOfPartition
  TieRule ties = TieRule::first;         ///< not `all`
  std::size_t offset = 0;                ///< the best rows of each that are left out
  /// The partitions in the order of the answer; empty: as they lie.
  std::span<const std::int64_t> order = {};
  /// In device memory, what the answer has instead of each row; null: the row itself.
  const std::uint32_t* places = nullptr;
};

inline constexpr std::size_t kMaxOfPartition = 2048;

/// The rows of each partition from the offset to the k-th, best first, partition by partition. A warp reads each short
/// partition, and a block each long one, in one launch for those of a kind. The answer has fewer than 2^32 rows.
/// Throws Failure and OutOfMemory.
Vector<RowId> best_of_partitions(const PartitionProblem& problem);

}  // namespace skyrank::kernels::cuda::select
