#include "engine/parts/states/unite.hpp"

#include <algorithm>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/operators/gather/gather.hpp"
#include "engine/parts/states/concatenate.hpp"
#include "engine/query/bind/fingerprint.hpp"
#include "engine/query/written_names.hpp"
#include "engine/runtime/query_memory.hpp"

namespace skyrank::exec {
namespace {

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

}  // namespace

StateQuery state_query(const Query& query, const Partial& partial) {
  const std::vector<GroupKey>& keys = query::keys_of_table(query);
  std::vector<GroupKey> named = query::named_keys(query, query::names_of(partial.columns()));
  std::string of_named = query::fingerprint_of(query, named);
  if (partial.fingerprint() == of_named) return {query, std::move(named), std::move(of_named)};
  return {query, keys, query::fingerprint_of(query, keys)};
}

void check_fingerprint(const StateQuery& query, const Partial& partial) {
  if (partial.fingerprint() == query.fingerprint) return;
  throw DataError("a partial answer belongs to the query with the fingerprint " + partial.fingerprint() +
                      ", not to this one, " + query.fingerprint,
                  query::location_of(query.query));
}

query::BoundQuery bind_states(const StateQuery& query, const Table& columns) {
  const query::Schema schema = query::schema_of(columns);
  try {
    return query::bind(query.query, {query.keys, schema.fields.size()}, schema);
  } catch (const BindError& error) {
    throw DataError("partial answer: its columns are not those that its query reads: " + error.message(),
                    query::location_of(query.query));
  }
}

StateRows in_order_of_rows(StateRows rows) {
  const auto order = ascending_order(rows.rows);
  if (order.empty()) return rows;
  rows.columns = gather(rows.columns, order);
  std::ranges::sort(rows.rows);
  return rows;
}

StateRows joined(const std::vector<const StateRows*>& states) {
  if (states.size() == 1) return *states.front();
  StateRows all;
  std::vector<Table> tables;
  for (const StateRows* state : states) {
    QueryMemory::hold(state->rows.size() * sizeof(RowId));
    all.rows.insert(all.rows.end(), state->rows.begin(), state->rows.end());
    tables.push_back(state->columns);
  }
  all.columns = concatenate(tables);
  return in_order_of_rows(std::move(all));
}

std::vector<const StateRows*> pointers_to(const std::vector<StateRows>& states) {
  std::vector<const StateRows*> pointers;
  for (const StateRows& state : states) pointers.push_back(&state);
  return pointers;
}

United unite(const std::vector<Partial>& partials) {
  std::vector<StateRows> states;
  for (const Partial& partial : partials) states.push_back({partial.rows(), partial.columns()});
  // Columns that come from outside may lie in memory in any way.
  if (states.size() == 1) states.front().columns = concatenate({states.front().columns});
  std::vector<RowRange> covers = united_covers(partials);
  return {joined(pointers_to(states)), std::move(covers)};
}

United unite_checked(const StateQuery& query, const std::vector<Partial>& partials) {
  for (const Partial& partial : partials) check_fingerprint(query, partial);
  return unite(partials);
}

}  // namespace skyrank::exec
