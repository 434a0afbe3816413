#pragma once

#include <skyrank/engine.hpp>
#include <skyrank/plan.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/parts/gpus/plan_parts.hpp"
#include "engine/query/bound.hpp"

// Queries over tables, as a whole or in parts on GPUs: their partial answers, found by one thread for each GPU, and
// merged.
namespace skyrank::exec {

/// Answers a query over a table. Throws what Engine::run throws.
Result run_table(const EngineState& state, const query::BoundQuery& query, const Table& table,
                 const RunOptions& options);

/// The same in parts of a table of two rows or more, whatever the planner thinks of them.
Result run_in_parts(const EngineState& state, const query::BoundQuery& query, const Table& table,
                    const RunOptions& options, const GpuParts& parts);

/// The plan of `run_table`, without running it.
PlanNode explain_table(const EngineState& state, const query::BoundQuery& query, const Table& table,
                       const RunOptions& options);

}  // namespace skyrank::exec
