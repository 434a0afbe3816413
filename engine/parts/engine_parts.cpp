#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

#include "engine/executor/key_expressions.hpp"
#include "engine/operators/gather.hpp"
#include "engine/parts/candidates.hpp"
#include "engine/parts/concatenate.hpp"
#include "engine/parts/group_states.hpp"
#include "engine/parts/partial_answer.hpp"
#include "engine/parts/parts_memory.hpp"
#include "engine/parts/prune.hpp"
#include "engine/parts/sources/by_parts.hpp"
#include "engine/query/bound.hpp"
#include "engine/row_error.hpp"

namespace skyrank {
namespace {

using exec::add_rules, exec::base_query, exec::candidates_query, exec::has_missing_rules, exec::keeps_all;

/// Runs f and renumbers an error about a row: from its position in the table of f to global(position).
template <class F, class Global>
auto with_global_rows(const F& f, const Global& global) {
  try {
    return f();
  } catch (const RowError& error) {
    throw DataError(error.renumbered(global(error.row())));
  }
}

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

std::vector<RowId> sorted(std::vector<RowId> rows) {
  std::ranges::sort(rows);
  return rows;
}

/// Returns the rows of an answer, ascending, and adds the rest of it to `runs` unless that is null.
std::vector<RowId> rows_found(Result result, std::vector<Result>* runs) {
  std::vector<RowId> rows = sorted(std::move(result.rows));
  if (runs != nullptr) {
    result.rows.clear();
    result.table = Table();
    runs->push_back(std::move(result));
  }
  return rows;
}

/// Returns the positions of the candidates of a table, ascending.
std::vector<RowId> candidates(const Engine& engine, const Query& query, const Table& table, const RunOptions& options,
                              std::vector<Result>* runs = nullptr) {
  const auto bound = query::bind(query, query::schema_of(table));
  std::vector<RowId> rows = rows_found(engine.run(candidates_query(query, table.num_rows()), table, options), runs);
  if (keeps_all(query) || bound.partition_columns.empty()) return rows;
  const std::string name = unused_name(table);
  const std::vector<RowId> first =
      rows_found(engine.run(first_rows_query(query, name), with_row_column(table, name), options), runs);
  std::vector<RowId> both;
  std::ranges::set_union(rows, first, std::back_inserter(both));
  return both;
}

/// Returns the columns that the query reads, at `rows`.
Table columns_at(const Query& query, const Table& table, const std::vector<RowId>& rows) {
  std::vector<Column> columns;
  for (const int index : query::columns_read(query::bind(query, query::schema_of(table)))) {
    columns.push_back(exec::gather(table.column(index), rows, table.column(index).name()));
  }
  return columns.empty() ? Table::with_rows(static_cast<std::int64_t>(rows.size())) : Table(std::move(columns));
}

/// The candidates of several partial answers, in the order of the whole table.
struct Union {
  Table table;
  std::vector<RowId> rows;
  std::vector<RowRange> covers;

  exec::GroupStates groups() const { return {rows, table}; }
  RowId global(RowId row) const { return rows.at(static_cast<std::size_t>(row)); }
};

std::vector<RowRange> united_covers(const std::vector<Partial>& partials) {
  std::vector<RowRange> covers;
  for (const Partial& partial : partials) {
    covers.insert(covers.end(), partial.covers().begin(), partial.covers().end());
  }
  std::ranges::sort(covers, {}, &RowRange::begin);
  for (std::size_t i = 1; i < covers.size(); ++i) {
    if (covers[i].begin >= covers[i - 1].end) continue;
    throw DataError("two partial answers cover row " + std::to_string(covers[i].begin) +
                    "; each row of the table must be in one part");
  }
  return covers;
}

void check_fingerprint(const Query& query, const std::string& fingerprint, const Partial& partial) {
  if (partial.fingerprint() == fingerprint) return;
  throw DataError("a partial answer belongs to the query with the fingerprint " + partial.fingerprint() +
                      ", not to this one, " + fingerprint,
                  query.location());
}

Union unite(const Query& query, const std::vector<Partial>& partials) {
  query.validate();
  if (partials.empty()) throw DataError("merging needs at least one partial answer", query.location());
  const std::string fingerprint = fingerprint_of(query);
  Union all;
  std::vector<Table> tables;
  for (const Partial& partial : partials) {
    check_fingerprint(query, fingerprint, partial);
    tables.push_back(partial.columns());
    all.rows.insert(all.rows.end(), partial.rows().begin(), partial.rows().end());
  }
  all.covers = united_covers(partials);
  all.table = exec::concatenate(tables);
  const auto order = exec::ascending_order(all.rows);
  if (order.empty()) return all;
  all.table = exec::gather(all.table, order);
  std::ranges::sort(all.rows);
  return all;
}

/// Returns the groups of a part.
exec::GroupStates groups_of(const Engine& engine, const Query& query, const Table& part, RowId first_row,
                            const RunOptions& options, std::vector<Result>* runs) {
  const auto bound = query::bind(query, query::schema_of(part));
  std::vector<RowId> passing;
  if (query.where()) passing = candidates(engine, query, part, options, runs);
  const exec::Rows rows = query.where() ? exec::Rows{static_cast<std::int64_t>(passing.size()), passing.data()}
                                        : exec::Rows{part.num_rows(), nullptr};
  return exec::group_states(bound, part, rows, first_row);
}

exec::GroupStates merged_groups(const Query& query, const Union& all) {
  return exec::merge_states(query::bind(query, query::schema_of(all.table)), all.groups());
}

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

/// Replaces positions among the candidates by positions in the whole table, in the row ids and the columns of them.
void renumber(const Query& query, const Union& all, Result& result) {
  for (RowId& row : result.rows) row = all.global(row);
  std::vector<Column> columns = result.table.columns();
  const auto bound = query::bind(query, query::schema_of(all.table));
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (bound.outputs[c].kind != query::BoundOutput::Kind::row) continue;
    columns[c] = exec::row_column(result.rows, columns[c].name());
  }
  if (!columns.empty()) result.table = Table(std::move(columns));
}

void check_place(const Query& query, std::int64_t rows, RowId first_row) {
  if (first_row >= 0 && first_row <= std::numeric_limits<RowId>::max() - rows) return;
  throw DataError("a part of " + std::to_string(rows) + " rows cannot begin at row " + std::to_string(first_row) +
                      "; rows count from 0 to 9223372036854775806",
                  query.location());
}

/// Returns the units that may have rows for which the query's condition is true.
std::vector<std::size_t> units_to_read(const query::BoundQuery& bound, const Source& source) {
  if (!bound.condition) return exec::all_units(source);
  return exec::UnitPruner(source).units_with(*bound.condition).units;
}

}  // namespace

inline namespace v0 {

Partial moved(const Query& query, const Partial& partial, RowId by) {
  query.validate();
  check_fingerprint(query, fingerprint_of(query), partial);
  check_place(query, partial.covers().empty() ? 0 : partial.covers().back().end, by);
  std::vector<RowRange> covers = partial.covers();
  for (RowRange& range : covers) range = {range.begin + by, range.end + by};
  std::vector<RowId> rows = partial.rows();
  for (RowId& row : rows) row += by;
  if (query.group_by().empty()) return {partial.fingerprint(), std::move(covers), std::move(rows), partial.columns()};
  const auto bound = query::bind(query, query::schema_of(partial.columns()));
  return {partial.fingerprint(), std::move(covers), std::move(rows), exec::moved_states(bound, partial.columns(), by)};
}

}  // namespace v0

Partial exec::partial_answer(const Engine& engine, const EngineState& state, const Query& query, const Table& part,
                             RowId first_row, const RunOptions& options, std::vector<Result>* runs) {
  check_place(query, part.num_rows(), first_row);
  query::refuse_unsupported(query, part.unsupported());
  const auto global = [&](RowId row) { return first_row + row; };
  const RowRange covers{first_row, first_row + part.num_rows()};
  return exec::with_counted_copies(state, query, [&]() -> Partial {
    std::optional<exec::KeyedQuery> keyed;
    if (exec::has_key_expressions(query)) {
      keyed = with_global_rows([&] { return exec::with_key_columns(query, part); }, global);
    }
    const Query& named = keyed ? keyed->query : query;
    const Table& table = keyed ? keyed->table : part;
    if (!query.group_by().empty()) {
      exec::GroupStates groups =
          with_global_rows([&] { return groups_of(engine, named, table, first_row, options, runs); }, global);
      return {fingerprint_of(query), {covers}, std::move(groups.first_rows), std::move(groups.columns)};
    }
    std::vector<RowId> rows = with_global_rows([&] { return candidates(engine, named, table, options, runs); }, global);
    Table columns = columns_at(named, table, rows);
    for (RowId& row : rows) row += first_row;
    return {fingerprint_of(query), {covers}, std::move(rows), std::move(columns)};
  });
}

Partial Engine::partial(const Query& query, const Table& part, RowId first_row, const RunOptions& options) const {
  return exec::partial_answer(*this, *state_, query, part, first_row, options);
}

Partial Engine::partial(const Query& query, const Source& part, RowId first_row, const RunOptions& options) const {
  if (const auto table = part.table()) return partial(query, *table, first_row, options);
  query.validate();
  const std::int64_t size = num_rows(part);
  check_place(query, size, first_row);
  query::refuse_unsupported(query, part.schema().unsupported());
  const auto bound = query::bind(query, query::schema_of(part.schema()));
  const std::vector<int> columns = query::columns_read(bound);
  const RowRange covers{first_row, first_row + size};
  return exec::with_counted_copies(*state_, query, [&]() -> Partial {
    if (keeps_all(query) || !bound.partition_columns.empty()) {
      const Partial all =
          exec::partial_by_units(*this, *state_, query, part, columns, units_to_read(bound, part), first_row, options);
      return {all.fingerprint(), {covers}, all.rows(), all.columns()};
    }
    std::vector<RowId> rows =
        with_global_rows([&] { return sorted(run(candidates_query(query, size), part, options).rows); },
                         [&](RowId row) { return first_row + row; });
    SourceRows read;
    state_->admission.run(options.stop, [&] { read = part.read_rows(rows, columns); });
    std::vector<Column> chosen;
    for (const int column : columns) chosen.push_back(read.table.column(column));
    for (RowId& row : rows) row += first_row;
    Table table = chosen.empty() ? Table::with_rows(static_cast<std::int64_t>(rows.size())) : Table(std::move(chosen));
    return {fingerprint_of(query), {covers}, std::move(rows), std::move(table)};
  });
}

Result Engine::merge(const Query& query, const std::vector<Partial>& partials, const RunOptions& options) const {
  return exec::with_counted_copies(*state_, query, [&] {
    Union all = unite(query, partials);
    const Query named = exec::with_key_names(query, all.table);
    Result result;
    if (query.group_by().empty()) {
      result =
          with_global_rows([&] { return run(named, all.table, options); }, [&](RowId row) { return all.global(row); });
    } else {
      exec::GroupStates groups = merged_groups(named, all);
      const Table table = exec::finish_states(query::bind(named, query::schema_of(all.table)), groups);
      result = run(query_of_groups(named), table, options);
      all.rows = std::move(groups.first_rows);
    }
    renumber(named, all, result);
    return result;
  });
}

Partial Engine::merge_partials(const Query& query, const std::vector<Partial>& partials,
                               const RunOptions& options) const {
  return exec::with_counted_copies(*state_, query, [&]() -> Partial {
    const Union all = unite(query, partials);
    const Query named = exec::with_key_names(query, all.table);
    if (!query.group_by().empty()) {
      exec::GroupStates groups = merged_groups(named, all);
      return {fingerprint_of(query), all.covers, std::move(groups.first_rows), std::move(groups.columns)};
    }
    const std::vector<RowId> kept = with_global_rows([&] { return candidates(*this, named, all.table, options); },
                                                     [&](RowId row) { return all.global(row); });
    std::vector<RowId> rows;
    for (const RowId row : kept) rows.push_back(all.global(row));
    return {fingerprint_of(query), all.covers, std::move(rows), columns_at(named, all.table, kept)};
  });
}

}  // namespace skyrank
