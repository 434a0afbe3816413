#include "engine/parts/states/group_state.hpp"

#include <vector>

#include "engine/parts/states/aggregate_states.hpp"
#include "engine/parts/states/candidate_state.hpp"
#include "engine/parts/states/global_rows.hpp"
#include "engine/query/bound.hpp"

namespace skyrank::exec {
namespace {

/// Returns the query over its groups.
Query query_of_groups(const Query& query) {
  Query rest = Query::from(query.from());
  rest.name(query.name()).location(query.location()).timeout(query.timeout()).using_path(query.using_path());
  rest.nan(query.nan()).nulls(query.nulls()).partition_by(query.partition_by());
  if (query.prefer()) rest.prefer(*query.prefer());
  rest.levels(query.levels()).at_least(query.at_least()).distinct(query.distinct());
  if (!query.rank_by().empty()) rest.rank_by(query.rank_by());
  rest.offset(query.offset()).limit(query.limit()).ties(query.ties()).select(query.select());
  // Without an order, groups come in that of their first rows.
  if (!rest.prefer() && rest.rank_by().empty()) rest.rank_by({low("0")}).ties(Ties::first);
  return rest;
}

query::BoundQuery bound_to(const Query& query, const Table& table) {
  return query::bind(query, query::schema_of(table));
}

}  // namespace

StateRows GroupState::sink(const Table& part, RowId first_row) const {
  const auto states = [&] {
    const auto bound = bound_to(context_.query, part);
    std::vector<RowId> passing;
    Rows rows{part.num_rows(), nullptr};
    if (context_.query.where()) {
      passing = candidates_of(context_, part);
      rows = {static_cast<std::int64_t>(passing.size()), passing.data()};
    }
    return group_states(bound, part, rows, first_row);
  };
  return with_global_rows(states, [&](RowId row) { return first_row + row; });
}

StateRows GroupState::combine(const StateRows& all) const {
  return merge_states(bound_to(context_.query, all.columns), all);
}

Result GroupState::finalize(const StateRows& all) const {
  const StateRows groups = combine(all);
  const Table table = finish_states(bound_to(context_.query, groups.columns), groups);
  Result result = context_.engine.run(query_of_groups(context_.query), table, context_.options);
  renumber(context_.query, groups, result);
  return result;
}

}  // namespace skyrank::exec
