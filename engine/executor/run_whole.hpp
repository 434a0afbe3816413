#pragma once

#include <skyrank/engine.hpp>
#include <skyrank/plan.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/query/bound.hpp"

// Queries over whole tables, as they are planned, on the engine's threads and on the GPU of the calling thread.
namespace skyrank::exec {

/// Binds a query whose keys are columns to a table, or to the schema of a source. BindError at the place of the
/// mistake.
query::BoundQuery bind_to(const Query& query, const Table& schema);

/// Answers a query. Throws what Engine::run throws.
Result run_whole(const EngineState& engine, const query::BoundQuery& query, const Table& table,
                 const RunOptions& options);

/// Plans a query, without running it. Throws what Engine::explain throws.
PlanNode explain_whole(const EngineState& engine, const query::BoundQuery& query, const Table& table,
                       const RunOptions& options);

/// The same as `run_whole` where keys of groups or partitions are expressions.
Result run_keyed(const EngineState& engine, const Query& query, const Table& table, const RunOptions& options);

/// The same as `explain_whole` where keys of groups or partitions are expressions.
PlanNode explain_keyed(const EngineState& engine, const Query& query, const Table& table, const RunOptions& options);

}  // namespace skyrank::exec
