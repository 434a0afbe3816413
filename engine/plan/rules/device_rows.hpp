#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Rule `device-rows`: keeps the rows of the skyline on the GPU for its further levels, or if only some are the answer.
void keep_rows_on_device(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
