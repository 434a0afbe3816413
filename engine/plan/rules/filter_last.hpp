#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Rule `filter-last`: filters after the skyline if that gives the same rows and is cheaper: keys of all rows are made
/// faster than those of scattered rows, and on the GPU no list of rows is made before.
void filter_after_skyline(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
