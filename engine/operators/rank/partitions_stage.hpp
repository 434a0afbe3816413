#pragma once

#include <cstdint>
#include <optional>

#include "engine/operators/candidates.hpp"
#include "engine/operators/execution.hpp"

// Partitions that are ranked while they are made.
namespace skyrank::exec {

/// The rows of partitions, ranked in one pass or else only split.
struct PartitionedRows {
  std::optional<Vector<std::int64_t>> ranked = std::nullopt;  ///< positions in the order of the answer
  std::optional<Segments> split = std::nullopt;               ///< too many partitions to rank them so
};

/// Ranks the best rows of each partition in one pass. Returns neither where the plan does not ask for this, or the
/// ranking needs several keys.
PartitionedRows rank_partitions(Execution& execution, const SourceTable& source, const RowSet& rows);

/// Ranks partitions that the device makes. Returns positions in the order of the answer, or nothing where the plan does
/// not ask for this, or the device cannot.
std::optional<Vector<std::int64_t>> rank_partitions_on_device(Execution& execution, const SourceTable& source,
                                                              const RowSet& rows);

}  // namespace skyrank::exec
