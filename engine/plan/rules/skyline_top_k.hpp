#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Rule `skyline-top-k`: selects rows by the ranking before the skyline, if only the first of the skyline are asked
/// for.
void select_before_skyline(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
