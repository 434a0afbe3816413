#pragma once

#include <skyrank/engine.hpp>
#include <skyrank/partial.hpp>
#include <skyrank/source.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/parts/states/query_state.hpp"

// Queries over sources: they read no more than their answer needs.
namespace skyrank::exec {

/// Answers a query, bound to the schema of a source. Columns that only the answer shows are read for its rows alone,
/// and units that the condition rules out are not read. Throws what Engine::run throws.
Result run_source(const EngineState& engine, const query::BoundQuery& query, const Source& source,
                  const RunOptions& options);

/// The plan of the same, without running it. The columns that the plan's sample needs are read: of all units, or where
/// these are answered one by one, of the first.
PlanNode explain_source(const EngineState& engine, const query::BoundQuery& query, const Source& source,
                        const RunOptions& options);

/// Returns the partial answer of a query whose part, which begins at row `first_row` of the whole table, is a source:
/// by units where that needs less memory. Errors name rows of the source.
Partial partial_of_source(const StateSteps& steps, const Source& part, RowId first_row);

}  // namespace skyrank::exec
