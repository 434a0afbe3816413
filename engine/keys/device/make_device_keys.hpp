#pragma once

#include "engine/device/device_query_state.hpp"
#include "engine/device/row_set.hpp"
#include "engine/keys/keys.hpp"

namespace skyrank::exec {

/// Makes the keys that make_keys makes on the host, bit for bit, in the memory of the device. The host makes and sends
/// keys that have no form there (strings that are ranked or lie outside dictionaries, ranks of 64 bits with NULLs).
Keys make_keys(DeviceQueryState& device_state, const query::BoundPreference& term, const Table& table,
               const RowSet& rows);
Keys make_keys(DeviceQueryState& device_state, const query::BoundRankTerm& term, const Table& table,
               const RowSet& rows);

}  // namespace skyrank::exec
