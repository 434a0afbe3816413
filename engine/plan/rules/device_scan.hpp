#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Rule `device-scan`: tries to filter and rank in one scan of the columns on the GPU. Only a run knows whether the
/// scan can read them as they are there, so the plan falls back to its stages.
void try_device_scan(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
