#pragma once

#include <vector>

#include <skyrank/plan.hpp>

#include "engine/plan/physical_plan.hpp"
#include "engine/plan/run_record.hpp"

// The tree of nodes that explain shows is derived from the operators of a plan and what a run recorded of them.
namespace skyrank::exec {

/// Returns the operators in the order in which they run; those after a fallback if `fell_back`.
std::vector<const Operator*> pipeline(const PhysicalPlan& plan, bool fell_back = false);

/// Returns the temporary memory that an operator is expected to take, in bytes.
double predicted_bytes(const Operator& op);

/// Returns the operators as a tree: the last one is the root, which also says what became of the rules.
PlanNode tree(const PhysicalPlan& plan);

/// Returns the same tree after a run.
PlanNode tree(const PhysicalPlan& plan, const RunRecord& record);

}  // namespace skyrank::exec
