#include "engine/parts/states/candidate_state.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/expression/evaluate.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/operators/group/members.hpp"
#include "engine/operators/group/slots/classes.hpp"
#include "engine/operators/missing/missing.hpp"
#include "engine/parts/states/candidates.hpp"
#include "engine/parts/states/global_rows.hpp"
#include "engine/plan/physical_plan.hpp"
#include "engine/runtime/query_memory.hpp"
#include "kernels/common/memory.hpp"

namespace skyrank::exec {

using query::BoundQuery;

namespace {

/// Returns the rows that a query over a part finds, ascending, and adds its result to the context's runs.
std::vector<RowId> rows_found(const StateContext& context, const BoundQuery& query, const Table& table) {
  Result result = context.run(context.context, query, table);
  std::vector<RowId> rows = result.rows;
  std::ranges::sort(rows);
  if (context.runs != nullptr) {
    result.table = Table();
    context.runs->push_back(std::move(result));
  }
  return rows;
}

/// Returns the first row of each partition that may have rows in the answer, ascending.
std::vector<RowId> first_of_partitions(const StateContext& context, const BoundQuery& query, const Table& table) {
  return context.context.on_threads([&] {
    const kernels::AccountScope counted(context.context.engine.memory.get());
    const QueryMemory columns;
    Vector<RowId> left;
    Rows rows{table.num_rows(), nullptr};
    const auto keep = [&](Vector<RowId> kept) {
      left = std::move(kept);
      rows = {std::ssize(left), left.data()};
    };
    if (query.condition) keep(filter(*query.condition, table, rows));
    if (has_missing_rules(query)) {
      keep(apply_missing_rules(value_expressions(query), table, rows, query.nan_rule, query.null_rule));
    }
    const Vector<RowId> first = find_groups(table, query.partition_columns, rows).first_rows;
    return std::vector<RowId>(first.begin(), first.end());
  });
}

/// Returns the columns that the query reads, at `rows`.
Table columns_at(const BoundQuery& query, const Table& table, const std::vector<RowId>& rows) {
  return gather(chosen_columns(table, query::columns_read(query)), rows);
}

}  // namespace

std::vector<RowId> candidates_of(const StateContext& context, const BoundQuery& query, const Table& table) {
  std::vector<RowId> rows = rows_found(context, candidates_query(query, table.num_rows()), table);
  if (keeps_all(query) || query.partition_columns.empty()) return rows;
  const std::vector<RowId> first = first_of_partitions(context, query, table);
  std::vector<RowId> both;
  std::ranges::set_union(rows, first, std::back_inserter(both));
  return both;
}

CandidateState::CandidateState(const StateContext& context)
    : context_(context), over_states_(query::over_columns_read(context.query)) {}

StateRows CandidateState::sink(const Table& part, RowId first_row) const {
  StateRows state;
  state.rows = with_global_rows([&] { return candidates_of(context_, context_.query, part); },
                                [&](RowId row) { return first_row + row; });
  state.columns = columns_at(context_.query, part, state.rows);
  for (RowId& row : state.rows) row += first_row;
  return state;
}

StateRows CandidateState::combine(const StateRows& all) const {
  StateRows state;
  state.rows = with_global_rows([&] { return candidates_of(context_, over_states_, all.columns); },
                                [&](RowId row) { return all.global(row); });
  state.columns = columns_at(over_states_, all.columns, state.rows);
  for (RowId& row : state.rows) row = all.global(row);
  return state;
}

Result CandidateState::finalize(const StateRows& all) const {
  Result result = with_global_rows([&] { return context_.run(context_.context, over_states_, all.columns); },
                                   [&](RowId row) { return all.global(row); });
  renumber(over_states_, all, result);
  return result;
}

}  // namespace skyrank::exec
