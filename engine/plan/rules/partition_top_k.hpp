#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

namespace skyrank::exec {

/// Rule `partition-top-k`: keeps the best rows of each partition while the rows pass, instead of bringing the rows of
/// each partition together and ranking them. A run falls back where there are too many partitions.
void keep_best_of_partitions(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
