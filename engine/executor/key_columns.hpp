#pragma once

#include <memory>
#include <optional>

#include <skyrank/source.hpp>
#include <skyrank/table.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/query/bind/keys.hpp"
#include "engine/runtime/query_memory.hpp"
#include "kernels/common/memory.hpp"

// The columns of keys that are expressions, behind those of a table or a source.
namespace skyrank::exec {

/// Evaluates the keys for all rows that pass the query's condition. RowError where one fails, and ResourceError where
/// the columns exceed the limit of memory in force. A table without rows serves as the schema of others.
Table with_key_columns(const query::KeyedQuery& query, const Table& table);

/// A table with the columns of the keys, whose memory counts on the engine's account until the scope ends.
class KeyScope {
 public:
  KeyScope(const EngineState& engine, const query::KeyedQuery& query, const Table& table);

  const Table& table() const { return table_; }

 private:
  std::optional<QueryMemory> memory_;
  Table table_;
};

/// The same for a source, whose keys are evaluated for the rows that are read of it. The query and the source outlive
/// what is returned.
std::unique_ptr<const Source> with_key_columns(const query::KeyedQuery& query, const Source& source);

/// Calls f(source) with the columns of the keys, if the query has some.
template <class F>
auto with_keys(const query::KeyedQuery& query, const Source& source, const F& f) {
  return query.keys.empty() ? f(source) : f(*with_key_columns(query, source));
}

}  // namespace skyrank::exec
