#pragma once

#include <skyrank/engine.hpp>
#include <skyrank/plan.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/parts/gpus/plan_parts.hpp"

// Any query over a table in parts on GPUs: their partial answers, found by one thread for each GPU, and merged.
namespace skyrank::exec {

/// Answers a query as `engine.run` does over the whole table. Throws what it throws.
Result answer_by_gpus(const Engine& engine, const EngineState& state, const Query& query, const Table& table,
                      const RunOptions& options, const GpuParts& parts);

/// The plan of the same, without running it.
PlanNode explain_by_gpus(const Engine& engine, const EngineState& state, const Query& query, const Table& table,
                         const RunOptions& options, const GpuParts& parts);

}  // namespace skyrank::exec
