#include "engine/plan/rules/host_columns.hpp"

#include <vector>

#include "engine/device/resident.hpp"
#include "engine/runtime/device_values.hpp"

namespace skyrank::exec {
namespace {

void copy_all(const std::vector<int>& columns, const Table& table) {
  for (const int column : columns) copy_to_host(table.column(column).data());
}

/// Returns the columns whose values the host groups or partitions by.
std::vector<int> columns_the_host_groups(const PhysicalPlan& plan) {
  if (plan.query.group) return plan.device_groups ? std::vector<int>() : columns_of_groups(*plan.query.group);
  return plan.device_partitions ? std::vector<int>() : plan.query.partition_columns;
}

}  // namespace

void copy_columns_to_host(PhysicalPlan& plan, const Table& table) {
  copy_all(columns_the_host_groups(plan), table);
  if (!plan.on_device) copy_all(columns_of_keys(plan.query), table);
}

}  // namespace skyrank::exec
