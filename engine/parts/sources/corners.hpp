#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <skyrank/partial.hpp>
#include <skyrank/source.hpp>

#include "engine/operators/skyline/dominators.hpp"

// Best corners of units and of zones within them: the best value of each column, which no row of the unit beats. Where
// a known row is better than a corner in every column, it dominates all rows of the unit.
namespace skyrank::exec {

/// Returns a column with the best values of each unit for each of `orders`, NULL where a value is not known. Nothing
/// where the source lacks statistics of a column.
std::optional<std::vector<Column>> corners_of_units(const Source& source, std::span<const Order> orders);

/// Returns the rows of a unit that `known` rows leave by the bounds of its zones, as ranges within the unit, ascending.
/// Nothing where the source lacks zones of a column. Adds to `bytes` those that were read.
std::optional<std::vector<RowRange>> ranges_left(const Source& source, std::size_t unit, std::span<const Order> orders,
                                                 const Dominators& known, std::uint64_t& bytes);

}  // namespace skyrank::exec
