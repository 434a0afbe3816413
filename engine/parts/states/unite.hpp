#pragma once

#include <string>
#include <vector>

#include <skyrank/partial.hpp>
#include <skyrank/query.hpp>

#include "engine/parts/states/state_kind.hpp"

namespace skyrank::exec {

/// The rows of several partial answers, and the rows of the table that these cover.
struct United {
  StateRows state;
  std::vector<RowRange> covers;
};

/// Brings rows that no two states share into their order.
StateRows in_order_of_rows(StateRows rows);

/// Brings rows of several states together, in their order and in memory of its own; a single state stays as it is.
/// There is at least one; DataError where their columns differ.
StateRows joined(const std::vector<const StateRows*>& states);

std::vector<const StateRows*> pointers_to(const std::vector<StateRows>& states);

/// Brings partial answers of one query together, in the order of the whole table. DataError where two cover the same
/// row, or where their columns differ.
United unite(const std::vector<Partial>& partials);

/// Does the same for partial answers that come from outside, of the query at least one. DataError too where there are
/// none, where one belongs to another query, or where its columns are not those that the query reads.
United unite_checked(const Query& query, const std::vector<Partial>& partials);

/// Returns the query with the columns that its keys and texts stand for in partial answers with `columns`.
Query with_state_names(const Query& query, const Table& columns);

/// DataError where the columns of a partial answer are not those that its query reads.
void check_columns(const Query& query, const Table& columns);

/// DataError where a partial answer is of another query than the one with this fingerprint.
void check_fingerprint(const Query& query, const std::string& fingerprint, const Partial& partial);

}  // namespace skyrank::exec
