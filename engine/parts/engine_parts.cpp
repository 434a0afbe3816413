#include <optional>
#include <string>
#include <utility>

#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

#include "engine/executor/key_columns.hpp"
#include "engine/executor/query_context.hpp"
#include "engine/parts/memory/parts_memory.hpp"
#include "engine/parts/run_query.hpp"
#include "engine/parts/sources/checked_source.hpp"
#include "engine/parts/states/aggregate_states.hpp"
#include "engine/parts/states/global_rows.hpp"
#include "engine/parts/states/query_state.hpp"
#include "engine/parts/states/state_kind.hpp"
#include "engine/parts/states/unite.hpp"
#include "engine/plan/forced_path.hpp"
#include "engine/query/bind/fingerprint.hpp"
#include "engine/query/bound.hpp"
#include "engine/query/written_names.hpp"

namespace skyrank {
namespace {

/// Returns how the states of a query that is bound to a table run.
exec::StateSteps steps_of(const exec::QueryContext& context, const query::BoundQuery& bound, const Query& query,
                          const Table& table) {
  return {.context = context,
          .query = bound,
          .run = exec::run_table,
          .fingerprint = query::fingerprint_of(query, query::named_keys(query, query::names_of(table)))};
}

/// Calls f(kind, all, fingerprint) for partial answers of a query that come from outside, and the kind of its states.
template <class F>
auto with_states(const exec::EngineState& state, const Query& query, const std::vector<Partial>& partials,
                 const RunOptions& options, const F& f) {
  return exec::with_context(state, query, options, [&](const exec::QueryContext& context) {
    return exec::with_counted_copies(state, query::location_of(query), [&] {
      query.validate();
      if (partials.empty()) throw DataError("merging needs at least one partial answer", query::location_of(query));
      const exec::StateQuery owner = exec::state_query(query, partials.front());
      const exec::United all = exec::unite_checked(owner, partials);
      const query::BoundQuery bound = exec::bind_states(owner, all.state.columns);
      const exec::StateContext of_state{context, bound, exec::run_table};
      return f(*exec::kind_of(of_state), all, owner.fingerprint);
    });
  });
}

}  // namespace

inline namespace v0 {

Partial moved(const Query& query, const Partial& partial, RowId by) {
  query.validate();
  const exec::StateQuery owner = exec::state_query(query, partial);
  exec::check_fingerprint(owner, partial);
  exec::check_place(query::location_of(query), partial.covers().empty() ? 0 : partial.covers().back().end, by);
  std::vector<RowRange> covers = partial.covers();
  for (RowRange& range : covers) range = {range.begin + by, range.end + by};
  std::vector<RowId> rows = partial.rows();
  for (RowId& row : rows) row += by;
  if (!query.has_groups()) return {partial.fingerprint(), std::move(covers), std::move(rows), partial.columns()};
  const query::BoundQuery bound = exec::bind_states(owner, partial.columns());
  return {partial.fingerprint(), std::move(covers), std::move(rows), exec::moved_states(bound, partial.columns(), by)};
}

}  // namespace v0

Partial Engine::partial(const Query& query, const Table& part, RowId first_row, const RunOptions& options) const {
  return exec::with_context(*state_, query, options, [&](const exec::QueryContext& context) {
    exec::check_place(query::location_of(query), part.num_rows(), first_row);
    const query::KeyedQuery bound = query::bind_with_keys(query, part);
    const exec::StateSteps steps = steps_of(context, bound.query, query, part);
    if (bound.keys.empty()) return exec::partial_of(steps, part, first_row);
    return exec::with_counted_copies(*state_, query::location_of(query), [&] {
      const Table keyed = exec::with_global_rows([&] { return exec::with_key_columns(bound, part); },
                                                 [&](RowId row) { return first_row + row; });
      return exec::partial_of(steps, keyed, first_row);
    });
  });
}

Partial Engine::partial(const Query& query, const Source& source, RowId first_row, const RunOptions& options) const {
  if (const auto table = source.table()) return partial(query, *table, first_row, options);
  const exec::CheckedSource part(source);
  return exec::with_context(*state_, query, options, [&](const exec::QueryContext& context) {
    query.validate();
    exec::check_place(query::location_of(query), num_rows(part), first_row);
    const query::KeyedQuery bound = query::bind_with_keys(query, part.schema());
    const exec::StateSteps steps = steps_of(context, bound.query, query, part.schema());
    const auto partial_of = [&] {
      return exec::with_keys(bound, part,
                             [&](const Source& keyed) { return exec::partial_of_source(steps, keyed, first_row); });
    };
    return exec::with_global_rows(partial_of, [&](RowId row) { return first_row + row; });
  });
}

Result Engine::merge(const Query& query, const std::vector<Partial>& partials, const RunOptions& options) const {
  exec::check_forced(query);
  return with_states(*state_, query, partials, options,
                     [](const exec::StateKind& kind, const exec::United& all, const std::string& /*fingerprint*/) {
                       return kind.finalize(all.state);
                     });
}

Partial Engine::merge_partials(const Query& query, const std::vector<Partial>& partials,
                               const RunOptions& options) const {
  return with_states(*state_, query, partials, options,
                     [](const exec::StateKind& kind, const exec::United& all, const std::string& fingerprint) {
                       exec::StateRows left = kind.combine(all.state);
                       return Partial(fingerprint, all.covers, std::move(left.rows), std::move(left.columns));
                     });
}

}  // namespace skyrank
