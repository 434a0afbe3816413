#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/column_traits.hpp"
#include "engine/operators/group/slots/slot_states.hpp"
#include "engine/query/bound.hpp"

namespace skyrank::exec {

/// Returns true if text `a` comes before text `b` in the order of `categories`, or in that of bytes where it is null.
bool comes_before(const Categories* categories, std::string_view a, std::string_view b);

/// Returns values of an expression at some rows that compare as the evaluated ones do: the stored column where it is an
/// array, which may have numbers of fewer bits, or holds texts, and evaluated values elsewhere.
Column comparable_values(const query::BoundExpression& expression, const Table& table, const Rows& rows,
                         const std::string& name);

/// Returns for each group the position of its highest or lowest value, the first of equal ones; -1 for groups without
/// values. NaN is taken only where there is nothing else. `values` come from comparable_values, one for each position.
std::vector<std::int64_t> find_extremes(const RowSlots& slots, const SlotOrder& groups, const Column& values,
                                        bool highest);

}  // namespace skyrank::exec
