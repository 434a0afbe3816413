#pragma once

#include <memory>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/table.hpp>

#include "engine/executor/query_context.hpp"
#include "engine/query/bound.hpp"

// The state of a query that sees its table part by part: the rows that can still be in the answer. The rows of a part
// are *sunk* into a state, several states are *combined* into one, and the last one is *finalized* into the answer:
//
//   finalize(combine(sink(p1), ..., sink(pn))) == the answer over p1 + ... + pn
//
// for every split of a table. Combining is associative, and the order of states does not matter, since rows carry their
// numbers in the whole table. There are two kinds of states: candidates (candidates.hpp says which) and groups
// (aggregate_states.hpp). What crosses a process is a Partial; query_state.hpp grows a state from many parts.
namespace skyrank::exec {

/// Rows of a state.
struct StateRows {
  std::vector<RowId> rows;  ///< positions in the whole table, ascending
  Table columns;            ///< columns that the rest of the query reads, at these rows

  RowId global(RowId row) const { return rows.at(static_cast<std::size_t>(row)); }
};

/// Answers a query over a table. Throws what Engine::run throws.
using RunTable = Result (*)(const QueryContext& context, const query::BoundQuery& query, const Table& table);

/// A query, bound to the tables of its parts, and how it runs. States have the columns that it reads alone, so that
/// over a state it is the query over those (query::over_columns_read), to which it may be bound from the beginning.
struct StateContext {
  QueryContext context;
  const query::BoundQuery& query;
  RunTable run;                         ///< for queries over a part or a state
  std::vector<Result>* runs = nullptr;  ///< gets the results of queries over a part, without their tables
};

/// Does the three steps of a query. Errors about a row name its position in the whole table.
class StateKind {
 public:
  virtual ~StateKind() = default;

  /// Returns the state of a part that begins at row `first_row` of the whole table.
  virtual StateRows sink(const Table& part, RowId first_row) const = 0;

  /// Returns the state of the rows of several states, ascending.
  virtual StateRows combine(const StateRows& all) const = 0;

  /// Answers the query from the rows of several states, ascending.
  virtual Result finalize(const StateRows& all) const = 0;
};

/// Returns the kind of state that a query has. `context` outlives it.
std::unique_ptr<const StateKind> kind_of(const StateContext& context);

}  // namespace skyrank::exec
