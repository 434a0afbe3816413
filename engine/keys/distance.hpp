#pragma once

#include <compare>
#include <cstdint>

#include <skyrank/types.hpp>

#include "engine/expression/numeric.hpp"
#include "kernels/common/keys.hpp"

// Keys of `around` and `between` over exact types. Distances to a fractional end are compared without rounding: a range
// between integers is given by the integers next to it, and by which of the two gaps is smaller.
namespace skyrank::exec {

/// A range on the line where a column's values are the integers.
struct WideRange {
  int128 below = 0;        ///< highest integer under the range, if any_below
  int128 above = 0;        ///< lowest integer over it, if any_above
  bool any_below = false;  ///< the column's values may lie under the range,
  bool any_above = false;  ///< and over it
  /// How the gap between the range and the next integer below compares with that above.
  std::strong_ordering gaps = std::strong_ordering::equal;
};

/// The range [from, to] (from <= to) among the values of a column of integers, decimals, dates or timestamps, which
/// span [lowest, highest]. Ends may be fractions, infinite, or dates and timestamps of any unit.
WideRange wide_range(const Value& from, const Value& to, DataType type, int128 lowest, int128 highest);

/// The key function for distances to such a range; highest - lowest must be below 2^64.
kernels::DistanceKey distance_key(const Value& from, const Value& to, DataType type, int128 lowest, int128 highest);

}  // namespace skyrank::exec
