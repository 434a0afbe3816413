#pragma once

#include <vector>

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Lays out the choice of a few rows of those that a preference keeps. Returns the rows that it is expected to give.
planner::Cardinality lay_out_pick(PhysicalPlan& plan, const Table& table, const planner::Cardinality& rows);

}  // namespace skyrank::exec
