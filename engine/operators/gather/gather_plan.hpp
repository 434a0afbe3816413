#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Lays out the answer's columns. Returns the answer's rows.
planner::Cardinality lay_out_gather(PhysicalPlan& plan, const Table& table, const planner::Cardinality& rows);

}  // namespace skyrank::exec
