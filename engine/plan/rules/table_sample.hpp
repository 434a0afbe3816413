#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

// A sample costs about a hundredth of the query's predicted time, once for each table and query: tables keep the
// result.
namespace skyrank::exec {

/// Rule `statistics`: samples the table, where the query is long enough for that to pay.
void look_at_sample(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
