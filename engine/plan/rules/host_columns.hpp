#pragma once

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Copies columns that callers have on a GPU to the host if the plan reads all of their values there. It is not a rule,
/// as it changes no plan; it runs once the plan says where keys are made.
void copy_columns_to_host(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
