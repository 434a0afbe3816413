#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/keys/keys.hpp"
#include "engine/operators/candidates.hpp"
#include "engine/operators/execution.hpp"
#include "engine/operators/partition/device_partitions.hpp"

namespace skyrank::exec {

/// Ranks segments of keys, and records the path that was taken. Returns positions among the keys; with `partitions`,
/// which the device made, positions of the row set.
Vector<std::int64_t> rank_segments(Execution& execution, const std::vector<Keys>& keys, const Segments& segments,
                                   const DevicePartitions* partitions = nullptr);

/// Returns positions in the order of the answer, or nothing if the answer is all candidates in their own order.
std::optional<Vector<std::int64_t>> rank(Execution& execution, const SourceTable& source, const Candidates& candidates);

}  // namespace skyrank::exec
