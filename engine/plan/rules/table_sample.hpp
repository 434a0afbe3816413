#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

// A sample costs at most about a fiftieth of the time of what it tells, once for each table and query: tables keep the
// result.
namespace skyrank::exec {

/// Rule `statistics`: samples the table, where the query is long enough for that to pay.
void look_at_sample(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
