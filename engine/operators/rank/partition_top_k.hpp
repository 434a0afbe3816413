#pragma once

#include <cstdint>

#include "engine/keys/keys.hpp"
#include "engine/operators/group/slots/row_slots.hpp"
#include "engine/operators/window.hpp"

// Finds the best rows of many partitions in one pass over the rows, without sorting these by partition.
namespace skyrank::exec {

/// The windows of all partitions of a row set.
struct PartitionAnswer {
  Vector<std::int64_t> positions;  ///< partition by partition, in order of their first rows; ranked within
  std::int64_t partitions = 0;
};

/// Returns true if windows are short enough for the best of every partition to be kept in order while rows pass: at
/// most 128 rows, without a need for all ties.
bool keeps_best_in_order(const Window& window);

/// Returns true if the best rows of `slots` slots take about twice as much memory as the keys of n rows, or less.
bool keeps_best_in_memory(const Window& window, std::int64_t slots, std::int64_t n);

/// Finds the window of each partition in one pass over the rows, by one column of keys on the host. The rows are not
/// sorted by partition: each slot of `slots` keeps its best rows, and most rows lose to the last of these. Requires
/// keeps_best_in_order(window). Answers as Ranker does.
PartitionAnswer best_of_partitions(const RowSlots& slots, const kernels::KeyColumn& keys, const Window& window);

}  // namespace skyrank::exec
