#include "engine/parts/states/candidate_state.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include "engine/operators/gather.hpp"
#include "engine/operators/groups/classes.hpp"
#include "engine/operators/groups/members.hpp"
#include "engine/parts/states/candidates.hpp"
#include "engine/parts/states/global_rows.hpp"
#include "engine/query/bound.hpp"
#include "engine/runtime/device_values.hpp"

namespace skyrank::exec {
namespace {

/// Returns the query for the first row of each partition, by a column of row numbers.
Query first_rows_query(const Query& query, const std::string& row_column) {
  Query first = base_query(query);
  add_rules(query, first);
  const Expression row = Expression::column(row_column);
  std::vector<RankTerm> ranking = {RankTerm(row, false)};
  if (has_missing_rules(query)) {
    // The rules look at these expressions, which decide nothing: no two row numbers are equal.
    ranking.insert(ranking.end(), query.rank_by().begin(), query.rank_by().end());
    if (query.prefer()) first.prefer(prior({low(row), *query.prefer()}));
  }
  return first.rank_by(std::move(ranking)).limit(1);
}

Table with_row_column(const Table& table, const std::string& name) {
  std::vector<RowId> rows(static_cast<std::size_t>(table.num_rows()));
  std::iota(rows.begin(), rows.end(), RowId{0});
  std::vector<Column> columns = table.columns();
  columns.push_back(Column::own(name, std::move(rows)));
  return Table(std::move(columns));
}

std::string unused_name(const Table& table) {
  std::string name = "row";
  while (table.find(name)) name += '_';
  return name;
}

/// Returns the rows that a query over a part finds, ascending, and adds its result to the context's runs.
std::vector<RowId> rows_found(const StateContext& context, const Query& query, const Table& table) {
  Result result = context.engine.run(query, table, context.options);
  std::vector<RowId> rows = result.rows;
  std::ranges::sort(rows);
  if (context.runs != nullptr) {
    result.table = Table();
    context.runs->push_back(std::move(result));
  }
  return rows;
}

/// Returns the first row of each partition that may have rows in the answer, ascending.
std::vector<RowId> first_of_partitions(const StateContext& context, const Table& table,
                                       const std::vector<int>& columns) {
  const Query& query = context.query;
  if (query.where() || has_missing_rules(query)) {
    const std::string name = unused_name(table);
    return rows_found(context, first_rows_query(query, name), with_row_column(table, name));
  }
  for (const int column : columns) copy_to_host(table.column(column).data());
  const Rows rows{table.num_rows(), nullptr};
  const RowSlots slots = slots_of(table, columns, rows);
  const SlotStates<GroupMembers> members = find_members(slots);
  const SlotOrder order = order_slots(slots, [&](std::int64_t slot) { return members[slot].first; });
  return {order.first.begin(), order.first.end()};
}

/// Returns the columns that the query reads, at `rows`.
Table columns_at(const Query& query, const Table& table, const std::vector<RowId>& rows) {
  std::vector<Column> columns;
  for (const int index : query::columns_read(query::bind(query, query::schema_of(table)))) {
    columns.push_back(gather(table.column(index), rows, table.column(index).name()));
  }
  return columns.empty() ? Table::with_rows(static_cast<std::int64_t>(rows.size())) : Table(std::move(columns));
}

}  // namespace

std::vector<RowId> candidates_of(const StateContext& context, const Table& table) {
  const Query& query = context.query;
  const auto bound = query::bind(query, query::schema_of(table));
  std::vector<RowId> rows = rows_found(context, candidates_query(query, table.num_rows()), table);
  if (keeps_all(query) || bound.partition_columns.empty()) return rows;
  const std::vector<RowId> first = first_of_partitions(context, table, bound.partition_columns);
  std::vector<RowId> both;
  std::ranges::set_union(rows, first, std::back_inserter(both));
  return both;
}

StateRows CandidateState::sink(const Table& part, RowId first_row) const {
  StateRows state;
  state.rows =
      with_global_rows([&] { return candidates_of(context_, part); }, [&](RowId row) { return first_row + row; });
  state.columns = columns_at(context_.query, part, state.rows);
  for (RowId& row : state.rows) row += first_row;
  return state;
}

StateRows CandidateState::combine(const StateRows& all) const {
  StateRows state;
  state.rows = with_global_rows([&] { return candidates_of(context_, all.columns); },
                                [&](RowId row) { return all.global(row); });
  state.columns = columns_at(context_.query, all.columns, state.rows);
  for (RowId& row : state.rows) row = all.global(row);
  return state;
}

Result CandidateState::finalize(const StateRows& all) const {
  Result result = with_global_rows([&] { return context_.engine.run(context_.query, all.columns, context_.options); },
                                   [&](RowId row) { return all.global(row); });
  renumber(context_.query, all, result);
  return result;
}

}  // namespace skyrank::exec
