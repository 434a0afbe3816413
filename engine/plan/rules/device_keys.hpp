#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Rule `device-keys`: filters and makes keys on the GPU if all kernels must run there, or would and read a table that
/// is pinned or whose columns stay there for later queries.
void make_keys_on_device(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
