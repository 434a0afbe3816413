#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Rule `device-keys`: filters and makes keys on the GPU if all kernels must run there, or would and read a table that
/// is pinned or whose columns stay there for later queries.
void make_keys_on_device(PhysicalPlan& plan, const Table& table);

/// Rule `device-columns`: notes how the columns that the query brings to the GPU are shared with later queries.
void share_device_columns(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
