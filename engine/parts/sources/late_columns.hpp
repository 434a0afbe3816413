#pragma once

#include <cstdint>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/source.hpp>

#include "engine/executor/query_context.hpp"
#include "engine/plan/query_plan.hpp"

// Late materialisation: columns that the answer alone shows are read once its rows are known, and for these alone.
namespace skyrank::exec {

/// Returns the query that finds the rows of the answer. Where columns are read late, the outputs are made of them.
query::BoundQuery selection(const QueryPlan& plan);

/// Makes an answer of the source from one over `input`, which has the plan's columns: renumbers its rows, reads its
/// late columns, which its plan then shows, and makes its outputs. `ids` are the rows of `input` in the source; null:
/// `input` has the rows of the plan's units.
void finish_answer(const QueryContext& context, const QueryPlan& plan, const Source& source, const Table& input,
                   const std::vector<RowId>* ids, Result& result);

/// Returns the plan of a query whose late columns are not read yet.
PlanNode with_late_columns(const QueryContext& context, const QueryPlan& plan, const Source& source, PlanNode rows);

}  // namespace skyrank::exec
