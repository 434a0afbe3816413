#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/operator_cost.hpp"
#include "engine/plan/physical_plan.hpp"

// Plans `where` and `having`, and prices filters on the host and on a GPU.
namespace skyrank::exec {

/// Lays out the filter of a condition. Returns the rows that are expected to pass.
planner::Cardinality lay_out_filter(PhysicalPlan& plan, const Table& table, const planner::Cardinality& rows);

/// Lays out the filter of the groups. Returns the groups that are expected to pass.
planner::Cardinality lay_out_having(PhysicalPlan& plan, const Table& table, const planner::Cardinality& groups);

/// Returns the cost of a filter of `rows` rows, of which `kept` pass.
OperatorCost filter_cost(const Ir& condition, double rows, double kept, int threads);

/// Returns the cost of a filter on a GPU that has its columns, `column_bytes` a row.
OperatorCost device_filter_cost(const Ir& condition, double column_bytes, double rows, double kept);

/// Returns the cost of a filter that runs before all other operators, if keys are made.
OperatorCost first_filter_cost(const PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
