#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Lays out the rules `nan` and `nulls` where they drop or refuse rows. Returns the rows that are expected to be left.
planner::Cardinality lay_out_missing(PhysicalPlan& plan, const Table& table, const planner::Cardinality& rows);

}  // namespace skyrank::exec
