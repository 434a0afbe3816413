#pragma once

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Copies columns that callers have on a GPU to the host, where the plan has the host read all of their values. Not a
/// rule: it changes no plan, and comes when it is known where keys are made.
void copy_columns_to_host(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
