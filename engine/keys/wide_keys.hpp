#pragma once

#include "engine/expression/source.hpp"
#include "engine/keys/keys.hpp"

// Keys of values of 128 bits. Where the values span less than 64 bits, keys count from the best one; else they are
// dense ranks, which take a sort.
namespace skyrank::exec {

/// `low` and `high`.
Keys wide_value_keys(const Source& source, bool high);

/// `around` (from == to) and `between`.
Keys wide_distance_keys(const Source& source, const Value& from, const Value& to, bool inverted);

}  // namespace skyrank::exec
