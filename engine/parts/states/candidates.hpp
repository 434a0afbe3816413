#pragma once

#include <cstdint>

#include "engine/query/bound.hpp"

// Partial answers: the candidates of a part, found by a reduced query over it, and the query itself over the candidates
// of all parts.
//
// Let S be the rows that pass `where`, and A the candidates. The answer over A is that over S for every A between the
// rows named below and S, so that candidates may be too many, but never too few:
// - Rankings: the order by key, then row id (descending under `ties: last`) is total; the first k of a union are the
//   first k of the union of each part's first k. `ties: all` keeps each row equal to a part's k-th, which is no better
//   than the union's k-th.
// - Skylines: dominance is a strict partial order (Kiessling, "Foundations of Preferences in Database Systems", VLDB
//   2002), so that a dominated row of a finite set is dominated by a row of its skyline. The level of a row is the
//   length of the longest chain of dominators that ends in it. A part has no longer chains than the union, so the rows
//   of the union's levels 1 to n are among those of the parts' levels 1 to n. These keep their chains, and any other
//   row keeps one of more than n.
// - `at_least: k` takes at most k levels, since none is empty. Fewer of a part do not suffice: other parts can push its
//   first levels down.
// - `skyband: k`: of the rows that dominate a row, the k that come first in an order by dominance have fewer dominators
//   each, so that they are in the skybands of their parts. A row outside the union's skyband keeps k dominators.
// - Measures, but levels, are of all rows, so that all are candidates.
// - `distinct` keeps the lowest row of equal ones: it is the lowest in its part too.
// - Partitions are answered apart, in the order of their first rows; the first row of each in a part is a candidate.
// - Groups are kept as the states of their aggregates (aggregate_states.hpp), in the order of their first rows.
// - `pick` chooses among the rows that a skyline keeps, and belongs to the query over the candidates. By coverage it
//   counts the rows that each dominates, so that all are candidates.
// A ranking after a skyline is evaluated on the skyline alone, so a part must not evaluate it (it may fail), except for
// the rules about missing values, which look at all rows anyway.
namespace skyrank::exec {

/// Returns true if the query has a rule by which rows are left out, or refused, for NULL or NaN.
bool has_missing_rules(const query::BoundQuery& query);

/// Returns true if every row that passes the condition is a candidate.
bool keeps_all(const query::BoundQuery& query);

/// Returns the query for the candidates of a part of `rows` rows, but for the first rows of partitions.
query::BoundQuery candidates_query(const query::BoundQuery& query, std::int64_t rows);

/// Returns the query over the table that `group_by` derives.
query::BoundQuery query_of_groups(const query::BoundQuery& query);

}  // namespace skyrank::exec
