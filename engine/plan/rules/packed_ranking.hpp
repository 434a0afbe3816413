#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Rule `packed-ranking`: notes how many keys the terms of the ranking become.
void pack_ranking(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
