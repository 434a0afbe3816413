#pragma once

#include <skyrank/engine.hpp>
#include <skyrank/partial.hpp>
#include <skyrank/source.hpp>

#include "engine/executor/query_context.hpp"
#include "engine/parts/states/query_state.hpp"
#include "engine/plan/query_plan.hpp"

// A query over a table or a source: it is planned, its plan runs, and where a guess turns out wrong or memory does not
// suffice, the plan that follows it.
namespace skyrank::exec {

/// The rows that a query is asked of: a table in memory, or a source that is read as far as it is needed. Both outlive
/// it.
struct QueryInput {
  const Table* table = nullptr;
  const Source* source = nullptr;  ///< null: the table
};

/// Plans a query, which is bound to the input's schema. Of a source nothing is read but statistics.
QueryPlan plan_query(const QueryContext& context, const query::BoundQuery& query, const QueryInput& input);

/// Answers a query by a plan. Throws what Engine::run throws.
Result run_plan(const QueryContext& context, QueryPlan plan, const QueryInput& input);

/// Describes what a plan does, without running it. Of a source, the columns are read that the samples of the operators
/// need: of all units, or where these are answered one by one, of the first. Throws what Engine::explain throws.
PlanNode explain_plan(const QueryContext& context, const QueryPlan& plan, const QueryInput& input);

/// Plans a query over a table, and answers it.
Result run_table(const QueryContext& context, const query::BoundQuery& query, const Table& table);

/// Returns the partial answer of a query whose part, which begins at row `first_row` of the whole table, is a source:
/// by units where that needs less memory. Errors name rows of the source.
Partial partial_of_source(const StateSteps& steps, const Source& part, RowId first_row);

}  // namespace skyrank::exec
