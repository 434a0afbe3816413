#pragma once

#include "engine/device/device_query_state.hpp"
#include "engine/device/row_set.hpp"
#include "engine/keys/keys.hpp"

namespace skyrank::exec {

/// As make_keys of the host, bit for bit, but in the memory of the device. What has no form there (strings that are in
/// no dictionary, ranks of 64 bits with NULLs) is made by the host and sent.
Keys make_keys(DeviceQueryState& device_state, const query::BoundPreference& term, const Table& table,
               const RowSet& rows);
Keys make_keys(DeviceQueryState& device_state, const query::BoundRankTerm& term, const Table& table,
               const RowSet& rows);

}  // namespace skyrank::exec
