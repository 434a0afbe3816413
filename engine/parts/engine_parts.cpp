#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

#include "engine/executor/key_expressions.hpp"
#include "engine/executor/limits.hpp"
#include "engine/parts/memory/parts_memory.hpp"
#include "engine/parts/sources/by_parts.hpp"
#include "engine/parts/sources/checked_source.hpp"
#include "engine/parts/sources/prune.hpp"
#include "engine/parts/states/aggregate_states.hpp"
#include "engine/parts/states/candidates.hpp"
#include "engine/parts/states/global_rows.hpp"
#include "engine/parts/states/partial_answer.hpp"
#include "engine/parts/states/state_kind.hpp"
#include "engine/parts/states/unite.hpp"
#include "engine/query/bound.hpp"
#include "engine/query/written_names.hpp"
#include "engine/stop.hpp"

namespace skyrank {
namespace {

void check_place(const Query& query, std::int64_t rows, RowId first_row) {
  if (first_row >= 0 && first_row <= std::numeric_limits<RowId>::max() - rows) return;
  throw DataError("a part of " + std::to_string(rows) + " rows cannot begin at row " + std::to_string(first_row) +
                      "; rows count from 0 to 9223372036854775806",
                  query.location());
}

/// Returns the query to which a partial answer belongs: the keys whose texts are names of columns are these columns.
Query query_of(const Partial& partial, const Query& query) {
  if (partial.fingerprint() == fingerprint_of(query)) return query;
  Query named = query::with_written_keys(query, partial.columns());
  return partial.fingerprint() == fingerprint_of(named) ? named : query;
}

Query query_of(const std::vector<Partial>& partials, const Query& query) {
  return partials.empty() ? query : query_of(partials.front(), query);
}

/// Returns a partial answer of a query with other names as one of `query`.
Partial as_answer_of(const Query& query, const Partial& partial) {
  return {fingerprint_of(query), partial.covers(), partial.rows(), partial.columns()};
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
  const Query owner = query_of(partial, query);
  exec::check_fingerprint(owner, fingerprint_of(owner), partial);
  check_place(query, partial.covers().empty() ? 0 : partial.covers().back().end, by);
  std::vector<RowRange> covers = partial.covers();
  for (RowRange& range : covers) range = {range.begin + by, range.end + by};
  std::vector<RowId> rows = partial.rows();
  for (RowId& row : rows) row += by;
  if (query.group_by().empty()) return {partial.fingerprint(), std::move(covers), std::move(rows), partial.columns()};
  exec::check_columns(owner, partial.columns());
  const Query named = exec::with_state_names(owner, partial.columns());
  const auto bound = query::bind(named, query::schema_of(partial.columns()));
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
    const StateContext context{engine, keyed ? keyed->query : query, options, runs};
    StateRows left = kind_of(context)->sink(keyed ? keyed->table : part, first_row);
    return {fingerprint_of(query), {covers}, std::move(left.rows), std::move(left.columns)};
  });
}

Partial exec::partial_answer(const Engine& engine, const EngineState& state, const Query& query, const StateRows& rows,
                             RowRange covers, const RunOptions& options, std::vector<Result>* runs) {
  return exec::with_counted_copies(state, query, [&]() -> Partial {
    StateRows left = kind_of({engine, query, options, runs})->combine(rows);
    return {fingerprint_of(query), {covers}, std::move(left.rows), std::move(left.columns)};
  });
}

Partial Engine::partial(const Query& query, const Table& part, RowId first_row, const RunOptions& options) const {
  if (const auto named = query::with_written_names(query, part)) {
    return as_answer_of(query::with_written_keys(query, part), partial(*named, part, first_row, options));
  }
  return exec::limited_as_a_whole(query, options, state_->timer, [&](const Query& asked, const RunOptions& run, auto&) {
    return exec::partial_answer(*this, *state_, asked, part, first_row, run);
  });
}

Partial Engine::partial(const Query& query, const Source& source, RowId first_row, const RunOptions& options) const {
  if (const auto table = source.table()) return partial(query, *table, first_row, options);
  if (const auto named = query::with_written_names(query, source.schema())) {
    return as_answer_of(query::with_written_keys(query, source.schema()), partial(*named, source, first_row, options));
  }
  const exec::CheckedSource part(source);
  return exec::limited_as_a_whole(query, options, state_->timer, [&](const Query& asked, const RunOptions& run, auto&) {
    return exec::partial_of_source(*this, *state_, asked, part, first_row, run);
  });
}

Partial exec::partial_of_source(const Engine& engine, const EngineState& state, const Query& query, const Source& part,
                                RowId first_row, const RunOptions& options) {
  query.validate();
  const std::int64_t size = num_rows(part);
  check_place(query, size, first_row);
  query::refuse_unsupported(query, part.schema().unsupported());
  if (const auto keyed = exec::with_key_columns(query, part)) {
    const Partial named =
        with_global_rows([&] { return engine.partial(keyed->query, *keyed->source, first_row, options); },
                         [&](RowId row) { return first_row + row; });
    return as_answer_of(query, named);
  }
  const auto bound = query::bind(query, query::schema_of(part.schema()));
  const std::vector<int> columns = query::columns_read(bound);
  const RowRange covers{first_row, first_row + size};
  return exec::with_counted_copies(state, query, [&]() -> Partial {
    if (keeps_all(query) || !bound.partition_columns.empty()) {
      const Partial all =
          exec::partial_by_units(engine, state, query, part, columns, units_to_read(bound, part), first_row, options);
      return {all.fingerprint(), {covers}, all.rows(), all.columns()};
    }
    std::vector<RowId> rows =
        with_global_rows([&] { return engine.run(candidates_query(query, size), part, options).rows; },
                         [&](RowId row) { return first_row + row; });
    std::ranges::sort(rows);
    SourceRows read;
    state.admission.run(options.stop, [&] {
      const StopScope heard(options.stop);
      read = part.read_rows(rows, columns);
    });
    std::vector<Column> chosen;
    for (const int column : columns) chosen.push_back(read.table.column(column));
    for (RowId& row : rows) row += first_row;
    Table table = chosen.empty() ? Table::with_rows(static_cast<std::int64_t>(rows.size())) : Table(std::move(chosen));
    return {fingerprint_of(query), {covers}, std::move(rows), std::move(table)};
  });
}

Result Engine::merge(const Query& query, const std::vector<Partial>& partials, const RunOptions& options) const {
  return exec::limited_as_a_whole(query, options, state_->timer, [&](const Query& asked, const RunOptions& run, auto&) {
    return exec::with_counted_copies(*state_, asked, [&] {
      const Query owner = query_of(partials, asked);
      const exec::StateRows all = exec::unite(owner, partials).state;
      const Query named = exec::with_state_names(owner, all.columns);
      return exec::kind_of({*this, named, run})->finalize(all);
    });
  });
}

Partial Engine::merge_partials(const Query& query, const std::vector<Partial>& partials,
                               const RunOptions& options) const {
  return exec::limited_as_a_whole(query, options, state_->timer, [&](const Query& asked, const RunOptions& run, auto&) {
    return exec::with_counted_copies(*state_, asked, [&]() -> Partial {
      const Query owner = query_of(partials, asked);
      exec::United all = exec::unite(owner, partials);
      const Query named = exec::with_state_names(owner, all.state.columns);
      exec::StateRows left = exec::kind_of({*this, named, run})->combine(all.state);
      return {fingerprint_of(owner), std::move(all.covers), std::move(left.rows), std::move(left.columns)};
    });
  });
}

}  // namespace skyrank
