#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Rule `device-columns`: notes how the columns that the query brings to the GPU are shared with later queries.
void share_device_columns(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
