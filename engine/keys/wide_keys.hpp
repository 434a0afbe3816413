#pragma once

#include "engine/expression/source.hpp"
#include "engine/keys/keys.hpp"

// Keys of values of 128 bits. Where the values span less than 64 bits, keys count from the best one; else they are
// dense ranks, which take a sort.
namespace skyrank::exec {

/// `low` and `high`; NULL is the best or the worst.
Keys wide_value_keys(const Source& source, bool high, bool nulls_first);

/// `around` (from == to) and `between`.
Keys wide_distance_keys(const Source& source, const Value& from, const Value& to, bool inverted, bool nulls_first);

}  // namespace skyrank::exec
