#pragma once

#include <limits>

#include <skyrank/table.hpp>

#include "engine/executor/query_context.hpp"
#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Says that paths are chosen by the limit of memory alone.
inline constexpr double kAllMemory = std::numeric_limits<double>::infinity();

/// Plans a query over a table as a whole, for `explain` and for `run` alike; the kernels still have to get their paths.
/// Paths are chosen as if no more than `room` bytes of memory were left. Runs on the engine's threads. Throws BindError
/// for a name of a rule that does not exist, and DeviceError where the query demands a GPU that is not there.
PhysicalPlan plan_whole(const QueryContext& context, const query::BoundQuery& query, const Table& table,
                        double room = kAllMemory);

/// Returns true if the kernels of a plan are to run on a GPU, some of them at least.
bool uses_gpu(PhysicalPlan plan);

}  // namespace skyrank::exec
