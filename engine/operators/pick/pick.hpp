#pragma once

#include <cstddef>
#include <vector>

#include "engine/expression/evaluate.hpp"
#include "engine/query/bound.hpp"
#include "engine/runtime/query_memory.hpp"

namespace skyrank::exec {

/// The values of the terms that `pick` weighs against each other, row by row: less is better, as in `low`.
struct TermValues {
  std::size_t terms = 0;
  Vector<double> values;  ///< an infinity for what is missing: the better or the worse one, as the query's rules say
};

/// Evaluates the terms that are weighed (query::picked_terms) as float64.
TermValues term_values(const query::BoundQuery& query, const Table& table, const Rows& rows);

/// Returns the reference point of the volume, as its values are.
std::vector<double> reference_of(const query::BoundQuery& query);

/// Replaces the values of some rows by places between the best, 0, and the worst, 1, of the finite ones of each term.
void scale_to_range(TermValues& values);

/// Returns the row that is best in the first term, of equal ones the first.
std::size_t best_in_first_term(const TermValues& values);

}  // namespace skyrank::exec
