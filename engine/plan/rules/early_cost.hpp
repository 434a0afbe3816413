#pragma once

#include <vector>

#include <skyrank/table.hpp>

#include "engine/plan/operator_cost.hpp"
#include "engine/plan/physical_plan.hpp"

// Costs of the operators before the skyline, on the device that the plan gives them.
namespace skyrank::exec {

/// Returns the expressions of the preference's terms.
std::vector<const query::BoundExpression*> preference_expressions(const PhysicalPlan& plan);

/// Returns the cost of a filter that runs before all other operators, if keys are made.
OperatorCost first_filter_cost(const PhysicalPlan& plan, const Table& table);

/// Returns the cost of the preference's keys for `rows` rows: all of the table or, if `listed`, those that pass its
/// condition.
OperatorCost skyline_keys_cost(const PhysicalPlan& plan, const Table& table, double rows, bool listed);

}  // namespace skyrank::exec
