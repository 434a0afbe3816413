#pragma once

#include <skyrank/query.hpp>

// Walks over the expressions of a query, in the order in which a person reads them.
namespace skyrank::query {

/// Calls f(expression) for each expression of a preference.
template <class F>
void for_each_expression(const Preference& preference, const F& f) {
  if (preference.expression) f(*preference.expression);
  for (const Preference& child : preference.children) for_each_expression(child, f);
}

/// The same for the arguments of a query's aggregates.
template <class F>
void for_each_argument(const Query& query, const F& f) {
  for (const Aggregate& aggregate : query.aggregate()) {
    if (aggregate.argument) f(*aggregate.argument);
  }
}

/// The same for the clauses that choose, order and show the answer: `prefer`, `rank_by` and `select`.
template <class F>
void for_each_of_answer(const Query& query, const F& f) {
  if (query.prefer()) for_each_expression(*query.prefer(), f);
  for (const RankTerm& term : query.rank_by()) f(term.expression);
  for (const SelectItem& item : query.select()) f(item.expression);
}

}  // namespace skyrank::query
