#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

// Decides if a GPU filters and makes keys, and sends columns for that: the rules `device-keys` and `device-columns`.
namespace skyrank::exec {

/// Rule `device-keys`: filters and makes keys on the GPU if all kernels must run there, or would and read a table that
/// is pinned or whose columns stay there for later queries. Of other tables `pays_to_send` decides.
void make_keys_on_device(PhysicalPlan& plan, const Table& table);

/// Returns true if the keys of a plan are of the host only since its table is not on the GPU, so that the price of both
/// plans has to tell whether the way there pays.
bool may_make_keys_there(const PhysicalPlan& plan, const Table& table);

/// Lets the GPU filter and make keys of columns that have to go there first.
void send_for_keys(PhysicalPlan& plan, const Table& table);

/// Returns true if the whole query is expected to take less by `there`, all of whose kernels then run on the GPU, than
/// by `here`. Notes the decision in both.
bool pays_to_send(PhysicalPlan& there, PhysicalPlan& here);

/// Rule `device-columns`: notes how the columns that the query brings to the GPU are shared with later queries.
void share_device_columns(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
