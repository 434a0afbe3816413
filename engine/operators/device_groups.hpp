#pragma once

#include <optional>

#include "engine/device/device_query_state.hpp"
#include "engine/operators/group.hpp"
#include "engine/query/bound.hpp"

namespace skyrank::exec {

/// Returns true if the GPU can aggregate as the host does, bit for bit: counts of a column or of rows, sums and
/// averages of integers, and the least and greatest of integers, dates, timestamps and decimals of up to 18 digits.
bool can_aggregate_on_device(const query::BoundAggregate& aggregate, const Table& table);

/// Groups rows as `group` does, on the GPU, where group columns have codes and all aggregates are possible. Returns
/// nothing where DevicePartitions does not. Throws as `group`, and kernels::cuda::OutOfMemory.
std::optional<Grouped> group_on_device(DeviceQueryState& device_state, const query::BoundGroup& group,
                                       const Table& table, const RowSet& rows);

}  // namespace skyrank::exec
