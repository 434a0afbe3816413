#pragma once

#include <string>

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Plans a bound query: samples the table, lays out operators with their estimates, and rewrites them by the rules.
/// Paths are left to a run, which knows exact sizes, and to choose_paths(), for those who only look at a plan.
/// `sharing_queries` as in the plan. BindError when a preference has too many dimensions.
PhysicalPlan make_plan(query::BoundQuery query, const Table& table, const planner::Constraints& constraints,
                       const planner::Machine& machine, const Rules& rules = {}, int sharing_queries = 0);

/// Chooses the paths of a plan's kernels for the estimated sizes. Throws planner::NoPath.
void choose_paths(PhysicalPlan& plan);

}  // namespace skyrank::exec
