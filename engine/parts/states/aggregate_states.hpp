#pragma once

#include <span>

#include <skyrank/table.hpp>

#include "engine/expression/evaluate.hpp"
#include "engine/parts/states/state_kind.hpp"

// Partial aggregates: of each group of a part, what is needed to go on with the rows of other parts. No order and no
// split of the rows changes the outcome, as sums are exact.
//
// The rows of such a state are the first rows of the groups. Its columns have a row a group: those that the query
// reads, at the group's first row, then the states of each aggregate in order. `state.N.count` (int64) is the number of
// values, for `count`, `sum` and `avg`; `state.N.sum` (string) the exact sum, for `sum` and `avg`: of integers and
// decimals, as unscaled numbers, in hexadecimal digits, of floats as ExactSum writes it; `state.N.row` (int64) and
// `state.N.value` the first row with the extreme and the value there, for `min` and `max`, NULL where there is none. N
// counts aggregates from 0; `state` ends with as many underscores as no column before it shares.
namespace skyrank::exec {

/// Returns the groups among `rows` of a part that begins at row `first_row` of the whole table. RowError names a row of
/// the part.
StateRows group_states(const query::BoundQuery& query, const Table& part, const Rows& rows, RowId first_row);

/// Returns the groups of several parts, given one after the other, by ascending first row; `query` is bound to these
/// columns. DataError where they are no states of the query's groups.
StateRows merge_states(const query::BoundQuery& query, const StateRows& parts);

/// Returns the columns of the groups of a part with the rows of extremes `by` >= 0 further down. DataError where they
/// are no states of the query's groups, or a row would not fit into 64 bits.
Table moved_states(const query::BoundQuery& query, const Table& columns, RowId by);

/// Returns the columns of the groups of rows, of which row i is row `places[i]` of the whole table. `places` ascend.
Table placed_states(const query::BoundQuery& query, const Table& columns, std::span<const RowId> places);

/// Returns the table that `group_by` derives, as group() does. RowError for a sum that overflows names the first row of
/// the group in the whole table.
Table finish_states(const query::BoundQuery& query, const StateRows& groups);

}  // namespace skyrank::exec
