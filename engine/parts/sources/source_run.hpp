#pragma once

#include <skyrank/engine.hpp>
#include <skyrank/source.hpp>

#include "engine/executor/engine_state.hpp"

// Queries over sources: they read no more than their answer needs.
namespace skyrank::exec {

/// Answers a query as `engine.run` does over the whole table. Columns that only the answer shows are read for its rows
/// alone, and units that the condition rules out are not read. `state` is that of the engine.
Result run_source(const Engine& engine, const EngineState& state, const Query& query, const Source& source,
                  const RunOptions& options);

/// The plan of the same, without running it. The columns that the plan's sample needs are read.
PlanNode explain_source(const Engine& engine, const EngineState& state, const Query& query, const Source& source,
                        const RunOptions& options);

}  // namespace skyrank::exec
