#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/operator_cost.hpp"
#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Returns the cost of the query's measures, of which those that count rows are made on a device.
OperatorCost measures_cost(const PhysicalPlan& plan, kernels::Device device);

/// Lays out the measures of the rows that a preference keeps. Returns these rows.
planner::Cardinality lay_out_measure(PhysicalPlan& plan, const Table& table, const planner::Cardinality& rows);

}  // namespace skyrank::exec
