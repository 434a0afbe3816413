#pragma once

#include <skyrank/engine.hpp>

#include "engine/executor/plan_whole.hpp"
#include "engine/executor/query_context.hpp"

namespace skyrank::exec {

/// Plans and runs a query, by paths for `room` bytes of memory. Throws what the layers below throw; `guarded` makes
/// public errors of it.
Result answer(const QueryContext& context, const query::BoundQuery& query, const Table& table,
              double room = kAllMemory);

}  // namespace skyrank::exec
