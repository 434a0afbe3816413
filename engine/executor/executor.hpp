#pragma once

#include <functional>
#include <optional>

#include <skyrank/engine.hpp>

#include "engine/executor/plan_whole.hpp"
#include "engine/executor/query_context.hpp"
#include "engine/operators/execution.hpp"

// Plans a query over the rows that are there, and runs the plan.
namespace skyrank::exec {

/// Plans and runs a query, by paths for `room` bytes of memory. Throws what the layers below throw; `guarded` makes
/// public errors of it.
Result answer(const QueryContext& context, const query::BoundQuery& query, const Table& table,
              double room = kAllMemory);

/// Plans a query, and answers it by `run`; nothing where that returns nothing.
std::optional<Result> answer_by(const QueryContext& context, const query::BoundQuery& query, const Table& table,
                                double room, const std::function<std::optional<Result>(Execution&)>& run);

}  // namespace skyrank::exec
