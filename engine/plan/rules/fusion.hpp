#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Rule `fusion`: lets the ranking take in the filter and the making of keys, in one pass over the columns.
void fuse_ranking(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
