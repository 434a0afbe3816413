#pragma once

#include <string>

#include <skyrank/table.hpp>

#include "engine/plan/operator_cost.hpp"
#include "engine/plan/physical_plan.hpp"

// Plans `group_by`, and prices groups and their aggregates on a GPU.
namespace skyrank::exec {

/// Describes groups and their aggregates as explain shows them.
std::string describe_group(const query::BoundGroup& group, const Table& table);

/// Lays out `group_by`. Returns the expected number of groups.
planner::Cardinality lay_out_group(PhysicalPlan& plan, const Table& table, const planner::Cardinality& rows);

/// The size of a problem: groups and their aggregates on a GPU.
struct DeviceGroupingShape {
  double rows = 0;
  double groups = 0;
  double host_groups = 0;   ///< groups that are copied to the host
  double column_bytes = 0;  ///< bytes of a row in the columns that make the groups
  double columns = 0;       ///< columns of the table of groups
  double totals = 0;        ///< columns whose values are added up
};

/// Returns the cost of groups and their aggregates on a GPU, where the columns lie, and of the table of groups.
OperatorCost device_group_cost(const DeviceGroupingShape& shape);

}  // namespace skyrank::exec
