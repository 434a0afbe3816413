#pragma once

#include <skyrank/plan.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// The operators as a tree: the last one is the root, which also says what became of the rules.
PlanNode tree(Operators operators, const RuleLog& rules);

}  // namespace skyrank::exec
