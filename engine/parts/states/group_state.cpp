#include "engine/parts/states/group_state.hpp"

#include <utility>
#include <vector>

#include "engine/operators/gather.hpp"
#include "engine/parts/states/aggregate_states.hpp"
#include "engine/parts/states/candidate_state.hpp"
#include "engine/parts/states/global_rows.hpp"
#include "engine/query/bound.hpp"

namespace skyrank::exec {
namespace {

query::BoundQuery bound_to(const Query& query, const Table& table) {
  return query::bind(query, query::schema_of(table));
}

}  // namespace

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

Result GroupState::finalize(const StateRows& all) const { return answer(finish(all)); }

FinishedGroups GroupState::finish(const StateRows& all) const {
  StateRows groups = combine(all);
  FinishedGroups finished;
  finished.table = finish_states(bound_to(context_.query, groups.columns), groups);
  finished.rows = std::move(groups.rows);
  finished.states = gather(groups.columns, {});
  return finished;
}

Result GroupState::answer(FinishedGroups groups) const {
  Result result = context_.engine.run(query_of_groups(context_.query), groups.table, context_.options);
  renumber(context_.query, {std::move(groups.rows), std::move(groups.states)}, result);
  return result;
}

FinishedGroups GroupState::best(const FinishedGroups& groups) const {
  const Query over_groups = query_of_groups(context_.query);
  const std::vector<RowId> chosen = candidates_of({context_.engine, over_groups, context_.options}, groups.table);
  FinishedGroups best{gather(groups.table, chosen), {}, groups.states};
  for (const RowId group : chosen) best.rows.push_back(groups.rows[static_cast<std::size_t>(group)]);
  return best;
}

}  // namespace skyrank::exec
