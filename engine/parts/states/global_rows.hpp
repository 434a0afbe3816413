#pragma once

#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

#include "engine/parts/states/state_kind.hpp"
#include "engine/row_error.hpp"

namespace skyrank::exec {

/// Runs f and places a failure of a row: from its position in the table of f at global(position) of the whole table.
template <class F, class Global>
auto with_global_rows(const F& f, const Global& global) {
  try {
    return f();
  } catch (const RowError& error) {
    throw error.placed(global(error.row()));
  }
}

/// Sets the ids of an answer's rows, also in its columns of them. `query` is that of the answer.
void set_rows(const query::BoundQuery& query, std::vector<RowId> rows, Result& result);

/// Replaces positions among the rows of a state by positions in the whole table, in the row ids of an answer and in its
/// columns of them. `query` is that of the answer.
void renumber(const query::BoundQuery& query, const StateRows& all, Result& result);

}  // namespace skyrank::exec
