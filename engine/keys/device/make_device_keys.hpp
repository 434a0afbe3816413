#pragma once

#include <optional>

#include "engine/device/device_query_state.hpp"
#include "engine/device/row_set.hpp"
#include "engine/keys/keys.hpp"
#include "kernels/common/keys/key_recipe.hpp"

namespace skyrank::exec {

/// Makes the keys that make_keys makes on the host, bit for bit, in the memory of the device. The host makes and sends
/// keys that have no form there (strings that are ranked or lie outside dictionaries, ranks of 64 bits with NULLs).
Keys make_keys(DeviceQueryState& device_state, const query::BoundPreference& term, const Table& table,
               const RowSet& rows);
Keys make_keys(DeviceQueryState& device_state, const query::BoundRankTerm& term, const Table& table,
               const RowSet& rows);

/// Returns the range of a term's values, as far as their keys depend on it, by `ordered`. Nothing where the host has to
/// make the keys.
std::optional<kernels::IntegerRange> range_of_term(DeviceQueryState& device_state, const query::BoundPreference& term,
                                                   const Table& table, const RowSet& rows);

/// Makes the keys of a term from the range of more rows than these, so that they compare with those of the other rows.
/// Nothing where the host has to make them.
std::optional<Keys> make_keys_of_range(DeviceQueryState& device_state, const query::BoundPreference& term,
                                       const Table& table, const RowSet& rows, const kernels::IntegerRange& range);

}  // namespace skyrank::exec
