#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Lays out the scan of the columns that a query reads. Returns the rows that it gives.
double lay_out_scan(PhysicalPlan& plan, const Table& table, double rows);

}  // namespace skyrank::exec
