#pragma once

#include <cstdint>

#include <skyrank/types.hpp>

#include "engine/exec/numeric.hpp"
#include "kernels/common/keys.hpp"

namespace skyrank::exec {

/// The key function for distances to [from, to] (from <= to) of a column of integers, dates or timestamps whose values
/// span [lowest, highest]. Ends may be fractions, infinite, or dates and timestamps of any unit.
kernels::DistanceKey distance_key(const Value& from, const Value& to, DataType type, int128 lowest, int128 highest);

}  // namespace skyrank::exec
