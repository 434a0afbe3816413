#pragma once

#include "engine/device/device_query_state.hpp"
#include "engine/device/row_set.hpp"
#include "engine/query/bound.hpp"

namespace skyrank::exec {

/// The rows among `rows` for which a condition is true, found on the device where that can be: a condition that fails
/// for some row is left to the host, which names the row.
RowSet filter(DeviceQueryState& device_state, const query::BoundExpression& condition, const Table& table,
              const RowSet& rows);

}  // namespace skyrank::exec
