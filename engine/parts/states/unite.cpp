#include "engine/parts/states/unite.hpp"

#include <algorithm>

#include <skyrank/error.hpp>

#include "engine/executor/key_expressions.hpp"
#include "engine/operators/gather/gather.hpp"
#include "engine/parts/states/concatenate.hpp"
#include "engine/query/bound.hpp"
#include "engine/query/written_names.hpp"

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

void check_fingerprint(const Query& query, const std::string& fingerprint, const Partial& partial) {
  if (partial.fingerprint() == fingerprint) return;
  throw DataError("a partial answer belongs to the query with the fingerprint " + partial.fingerprint() +
                      ", not to this one, " + fingerprint,
                  query::location_of(query));
}

Query with_state_names(const Query& query, const Table& columns) {
  return with_key_names(query::with_written_clauses(query, columns), columns);
}

void check_columns(const Query& query, const Table& columns) {
  try {
    query::bind(with_state_names(query, columns), query::schema_of(columns));
  } catch (const BindError& error) {
    throw DataError("partial answer: its columns are not those that its query reads: " + error.message(),
                    query::location_of(query));
  }
}

United unite(const std::vector<Partial>& partials) {
  United all;
  std::vector<Table> tables;
  for (const Partial& partial : partials) {
    tables.push_back(partial.columns());
    all.state.rows.insert(all.state.rows.end(), partial.rows().begin(), partial.rows().end());
  }
  all.covers = united_covers(partials);
  all.state.columns = concatenate(tables);
  const auto order = ascending_order(all.state.rows);
  if (order.empty()) return all;
  all.state.columns = gather(all.state.columns, order);
  std::ranges::sort(all.state.rows);
  return all;
}

United unite_checked(const Query& query, const std::vector<Partial>& partials) {
  query.validate();
  if (partials.empty()) throw DataError("merging needs at least one partial answer", query::location_of(query));
  const std::string fingerprint = fingerprint_of(query);
  for (const Partial& partial : partials) check_fingerprint(query, fingerprint, partial);
  United all = unite(partials);
  check_columns(query, all.state.columns);
  return all;
}

}  // namespace skyrank::exec
