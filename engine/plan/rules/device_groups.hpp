#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

// Decides if a GPU groups rows, or partitions them: the rules `device-groups` and `device-partitions`.
namespace skyrank::exec {

/// Returns true if the GPU can group the rows of a query, and the rule is on.
bool may_group_on_device(const PhysicalPlan& plan, const Table& table);

/// Returns true if the GPU is expected to group faster than the CPU. Columns that are not there yet are sent first;
/// queries that share them pay a part each.
bool pays_to_group_on_device(PhysicalPlan& plan, const Table& table);

/// Rule `device-groups`: the GPU groups and aggregates, instead of the host, where filters and keys are its work too.
void group_on_device(PhysicalPlan& plan, const Table& table);

/// Returns true if the GPU can partition the rows of a query whose keys are made there, and the rule is on.
bool may_partition_on_device(const PhysicalPlan& plan, const Table& table);

/// Returns true if the GPU is expected to partition and rank faster than the CPU. Columns that are not there yet are
/// sent first; queries that share them pay a part each.
bool pays_to_partition_on_device(PhysicalPlan& plan, const Table& table);

/// Rule `device-partitions`: the GPU numbers the rows by their partitions and brings those of each together, instead of
/// the host, where the keys are made there too.
void partition_on_device(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
