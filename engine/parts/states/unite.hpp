#pragma once

#include <string>
#include <vector>

#include <skyrank/partial.hpp>
#include <skyrank/query.hpp>

#include "engine/parts/states/state_kind.hpp"
#include "engine/query/bound.hpp"

// Brings partial answers of one query together, in the order of rows, and checks those that come from outside.
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

/// A query whose partial answers come from outside: the keys by which they were made, and their fingerprint.
struct StateQuery {
  const Query& query;
  std::vector<GroupKey> keys;
  std::string fingerprint;
};

/// Returns a query as that of a partial answer: keys whose texts are names of columns are these columns, if it was made
/// by them.
StateQuery state_query(const Query& query, const Partial& partial);

/// Does the same as `unite` for partial answers that come from outside, of the query at least one. DataError too where
/// one belongs to another query.
United unite_checked(const StateQuery& query, const std::vector<Partial>& partials);

/// Binds a query to the columns of partial answers. DataError where these are not those that it reads.
query::BoundQuery bind_states(const StateQuery& query, const Table& columns);

/// DataError where a partial answer is of another query.
void check_fingerprint(const StateQuery& query, const Partial& partial);

}  // namespace skyrank::exec
