#pragma once

#include <vector>

#include <skyrank/types.hpp>

namespace skyrank::query {

/// The largest number of corners that a region of weights may have: that of the dimensions of a preference.
inline constexpr std::size_t kMaxCorners = 64;

/// Returns the corners of the region of weights that are 0 or more and fulfil c * w >= 0 for each of some constraints,
/// up to a positive factor: integers without a common divisor. Those that weigh the first term most come first, then
/// those that weigh the second most, and so on. Exact; empty where there is no point but 0. QueryError for more than
/// kMaxCorners, and where numbers do not fit 128 bits.
std::vector<std::vector<Int128>> corners_of(std::size_t terms, const std::vector<std::vector<Int128>>& constraints);

}  // namespace skyrank::query
