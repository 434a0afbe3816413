#pragma once

#include <skyrank/engine.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/executor/limits.hpp"

namespace skyrank::exec {

/// Plans and runs a query, by paths for `room` bytes of memory. Throws what the layers below throw; `guarded` makes
/// public errors of it.
Result answer(const EngineState& engine, const query::BoundQuery& query, const Table& table, const RunOptions& run,
              Limits& limits, double room = kAllMemory);

}  // namespace skyrank::exec
