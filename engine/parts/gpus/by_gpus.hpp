#pragma once

#include <skyrank/engine.hpp>
#include <skyrank/plan.hpp>

#include "engine/executor/query_context.hpp"
#include "engine/plan/query_plan.hpp"

// Queries over tables in parts on GPUs: their partial answers, found by one thread for each GPU, and merged.
namespace skyrank::exec {

/// Answers a query over a table of two rows or more by the plan's turns, shares or team. Throws what Engine::run
/// throws.
Result answer_by_gpus(const QueryContext& context, const QueryPlan& plan, const Table& table);

/// Describes the same, without running it.
PlanNode plan_of_gpus(const QueryContext& context, const QueryPlan& plan, const Table& table);

}  // namespace skyrank::exec
