#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Lays out the answer's columns. Returns the answer's rows.
double lay_out_gather(PhysicalPlan& plan, const Table& table, double rows);

}  // namespace skyrank::exec
