#include "engine/plan/rules/host_columns.hpp"

#include <vector>

#include "engine/device/resident.hpp"
#include "engine/runtime/device_values.hpp"

namespace skyrank::exec {
namespace {

void bring_all(const std::vector<int>& columns, const Table& table) {
  for (const int column : columns) bring_home(table.column(column).data());
}

/// Columns of the table of which the host makes groups or partitions.
std::vector<int> columns_of_groups(const PhysicalPlan& plan) {
  if (plan.device_partitions) return {};
  const query::BoundQuery& query = plan.query;
  if (!query.group) return query.partition_columns;
  std::vector<int> columns = query.group->columns;
  std::vector<const query::BoundExpression*> arguments;
  for (const query::BoundAggregate& aggregate : query.group->aggregates) {
    if (aggregate.argument) arguments.push_back(&*aggregate.argument);
  }
  const std::vector<int> read = columns_of(arguments);
  columns.insert(columns.end(), read.begin(), read.end());
  return columns;
}

}  // namespace

void bring_columns_home(PhysicalPlan& plan, const Table& table) {
  bring_all(columns_of_groups(plan), table);
  if (!plan.on_device) bring_all(columns_of_keys(plan.query), table);
}

}  // namespace skyrank::exec
