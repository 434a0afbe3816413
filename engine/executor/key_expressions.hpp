#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/query.hpp>
#include <skyrank/source.hpp>
#include <skyrank/table.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/runtime/query_memory.hpp"
#include "kernels/common/memory.hpp"

// Groups and partitions by expressions: the expressions become columns of the table, under their names or else their
// texts, and the query names these columns instead. So whatever runs a query sees columns alone.
namespace skyrank::exec {

/// Returns true if a query groups or partitions by an expression, or by a column under another name.
bool has_key_expressions(const Query& query);

/// Returns the query with columns as keys, for a table with `columns`, among which those of the keys may be. Parts of
/// later clauses that equal a key of the groups name its column too. BindError for a partition of groups by an
/// expression that is no key of them.
Query with_key_names(const Query& query, const std::vector<std::string>& columns);

/// The same with the names of a table's columns.
Query with_key_names(const Query& query, const Table& table);

/// A query whose keys are columns, and its table with these columns.
struct KeyedQuery {
  Query query;
  Table table;
};

/// Evaluates the keys for all rows that pass the query's condition. RowError where one fails, BindError, and
/// ResourceError where the columns exceed the limit of memory in force.
KeyedQuery with_key_columns(const Query& query, const Table& table);

/// A query and its table with columns as keys, whose memory counts on the engine's account until the scope ends.
class KeyScope {
 public:
  KeyScope(const EngineState& engine, const Query& query, const Table& table);

  const Query& query() const { return keyed_->query; }
  const Table& table() const { return keyed_->table; }

 private:
  std::optional<QueryMemory> memory_;
  std::optional<KeyedQuery> keyed_;
};

/// The same for a source, whose keys are evaluated for the rows that are read of it; nothing where the query has
/// columns as keys. The source outlives what is returned.
struct KeyedSource {
  Query query;
  std::unique_ptr<const Source> source;
};
std::optional<KeyedSource> with_key_columns(const Query& query, const Source& source);

/// Calls f(query, source) with columns as keys.
template <class F>
auto with_keys(const Query& query, const Source& source, const F& f) {
  const std::optional<KeyedSource> keyed = with_key_columns(query, source);
  return keyed ? f(keyed->query, *keyed->source) : f(query, source);
}

}  // namespace skyrank::exec
