#pragma once

#include <skyrank/engine.hpp>
#include <skyrank/query.hpp>
#include <skyrank/source.hpp>
#include <skyrank/table.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/runtime/execution_context.hpp"

namespace skyrank::exec {

/// Answers a query as Engine::run does, and tells the observer, if there is one, of each kernel that runs.
Result run_observed(const EngineState& engine, const Query& query, const Table& table, const RunOptions& options,
                    const KernelObserver& observer);
Result run_observed(const EngineState& engine, const Query& query, const Source& source, const RunOptions& options,
                    const KernelObserver& observer);

}  // namespace skyrank::exec
