#pragma once

#include <string>

#include <skyrank/table.hpp>

#include "engine/plan/operator_cost.hpp"
#include "engine/plan/physical_plan.hpp"

// Lays out the operators that a query needs, with estimates of their rows and costs, before any rule rewrites them.
namespace skyrank::exec {

/// Returns an operator that gives `rows` rows.
Operator make_operator(OperatorKind kind, std::string detail, double rows);

/// Replaces the estimated cost of an operator.
void predict(Operator& op, const OperatorCost& cost);

/// Fills the plan's operators from the scan to the gather.
void lay_out_operators(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
