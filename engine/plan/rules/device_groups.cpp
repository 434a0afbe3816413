#include "engine/plan/rules/device_groups.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/resident.hpp"
#include "engine/operators/filter/filter_plan.hpp"
#include "engine/operators/group/device_groups.hpp"
#include "engine/operators/group/group_plan.hpp"
#include "engine/operators/group/slots/numbering_cost.hpp"
#include "engine/operators/partition/device_partitions.hpp"
#include "engine/operators/partition/partition_plan.hpp"
#include "engine/operators/rank/rank.hpp"
#include "engine/operators/rank/rank_plan.hpp"
#include "engine/operators/window.hpp"
#include "engine/plan/operator_cost.hpp"
#include "engine/plan/rules/decide.hpp"
#include "planner/cost/cuda_common.hpp"
#include "planner/cost/cuda_partitions.hpp"

namespace skyrank::exec {
namespace {

/// Returns the reason if the values of some column have no codes on the GPU.
std::optional<std::string> why_no_codes(const std::vector<int>& columns, const Table& table) {
  for (const int index : columns) {
    const Column& column = table.column(index);
    if (!has_codes_on_device(column.data())) return "the GPU has no codes for the values of '" + column.name() + "'";
  }
  return std::nullopt;
}

/// Returns why the host has to group the rows; nothing where the GPU can.
std::optional<std::string> why_host_groups(const query::BoundGroup& group, const Table& table) {
  if (group.columns.empty()) return "all rows are one group";
  for (const query::BoundAggregate& aggregate : group.aggregates) {
    if (can_aggregate_on_device(aggregate, table)) continue;
    return "the GPU does not aggregate '" + aggregate.name +
           "': it counts, and adds up and compares columns of integers";
  }
  return why_no_codes(group.columns, table);
}

/// Returns why the host has to partition the rows; nothing where the GPU can.
std::optional<std::string> why_on_host(const PhysicalPlan& plan, const Table& table) {
  const query::BoundQuery& query = plan.query;
  if (query.group) return "the rows are groups, which the host makes";
  if (query.preference) return "each partition has a skyline";
  if (query.ranking.empty()) return "there is no ranking";
  if (!query.limit) return "all rows of a partition are the answer";
  if (!plan.constraints.algorithms.empty()) return "an algorithm was asked for";
  return why_no_codes(query.partition_columns, table);
}

std::vector<DataType> types_of(const std::vector<int>& columns, const Table& table) {
  std::vector<DataType> types;
  for (const int column : columns) types.push_back(table.column(column).type());
  return types;
}

/// Seconds for the columns that are not on the GPU yet, of those for the keys and of others.
double seconds_to_send(const PhysicalPlan& plan, const Table& table, const std::vector<int>& others) {
  std::vector<int> columns = columns_of_keys(plan.query);
  for (const int column : others) {
    if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
  }
  const double unsent =
      residency_of(columns, table, plan.sharing_queries > 0).unsent / std::max(1, plan.sharing_queries);
  return unsent * planner::cost::kTransferByte;
}

/// Predicts the seconds for the condition on the GPU; `rows` pass it.
double seconds_to_filter(const PhysicalPlan& plan, const Table& table, double rows) {
  if (plan.condition == nullptr) return 0;
  const double read = residency_of(columns_of({&*plan.query.condition}), table).row_bytes;
  return device_filter_cost(*plan.condition, read, static_cast<double>(table.num_rows()), rows).seconds;
}

/// Returns the expected number of rows to group.
double rows_to_group(const PhysicalPlan& plan) {
  return plan.operators.filter ? plan.operators.filter->estimate.rows.expected
                               : plan.operators.scan.estimate.rows.expected;
}

/// Returns the number of groups that are copied to the host: all, or those that a ranking with a limit keeps.
double groups_on_host(const PhysicalPlan& plan) {
  const double groups = plan.operators.group->estimate.rows.expected;
  const auto best = best_groups_of(plan.query);
  return best ? std::min(groups, static_cast<double>(best->k)) : groups;
}

OperatorCost device_cost_of_groups(const PhysicalPlan& plan, const Table& table) {
  const query::BoundGroup& group = *plan.query.group;
  std::vector<int> arguments;
  for (const query::BoundAggregate& aggregate : group.aggregates) {
    if (aggregate.argument) arguments.push_back(aggregate.argument->column);
  }
  return device_group_cost({.rows = rows_to_group(plan),
                            .groups = plan.operators.group->estimate.rows.expected,
                            .host_groups = groups_on_host(plan),
                            .column_bytes = residency_of(group.columns, table).row_bytes,
                            .columns = static_cast<double>(group.columns.size() + group.aggregates.size()),
                            .totals = static_cast<double>(arguments.size())});
}

/// Predicts the seconds for the condition and the groups on the GPU, with the transfers to it. The host has the groups
/// in both cases: those of the GPU go back there for their ranking.
double device_seconds_of_groups(const PhysicalPlan& plan, const Table& table) {
  const double ranked = static_cast<double>(plan.query.ranking.size()) * groups_on_host(plan) * sizeof(std::int64_t) *
                        planner::cost::kTransferByte;
  return seconds_to_send(plan, table, columns_of_groups(*plan.query.group)) +
         seconds_to_filter(plan, table, rows_to_group(plan)) + device_cost_of_groups(plan, table).seconds + ranked;
}

/// Predicts the seconds for the same on the CPU.
double host_seconds_of_groups(const PhysicalPlan& plan) {
  const double filter = plan.operators.filter ? plan.operators.filter->estimate.ms / 1e3 : 0;
  return filter + plan.operators.group->estimate.ms / 1e3;
}

PartitionedShape partitioned_shape(const PhysicalPlan& plan, const Table& table) {
  const double rows = plan.operators.partition->estimate.rows.expected;
  const std::int64_t largest = segment_rows(plan, rows);
  return {.rows = rows,
          .groups = plan.segments.expected,
          .wanted = static_cast<double>(window_of(plan.query).end(largest)),
          .column_bytes = residency_of(plan.query.partition_columns, table).row_bytes,
          .key_bytes = ranking_key_bytes(plan)};
}

OperatorCost device_cost_of_partitions(const PartitionedShape& shape) {
  if (selects_candidates(shape)) return device_candidates_cost(shape);
  return device_partition_cost(shape.rows, shape.groups, shape.column_bytes, shape.key_bytes);
}

/// Predicts the seconds for partitions, keys and ranking on the CPU, which keeps the best rows of each partition.
double host_seconds(const PhysicalPlan& plan, const Table& table) {
  const double rows = plan.operators.partition->estimate.rows.expected;
  const GroupingShape shape{types_of(plan.query.partition_columns, table), plan.numbering, rows,
                            plan.segments.expected};
  const double threads = std::max(plan.machine.threads, 1);
  const double filter = plan.operators.filter ? plan.operators.filter->estimate.ms / 1e3 : 0;
  return filter + numbering_cost(shape, plan.machine.threads).seconds + plan.operators.rank_keys->estimate.ms / 1e3 +
         rows * unit_cost::kBeaten / threads;
}

/// Predicts the seconds for the same on the GPU, with the transfers to it.
double device_seconds(const PhysicalPlan& plan, const Table& table) {
  const PartitionedShape partitioned = partitioned_shape(plan, table);
  const auto all = std::max(static_cast<double>(table.num_rows()), 1.0);
  double seconds = seconds_to_send(plan, table, plan.query.partition_columns) +
                   seconds_to_filter(plan, table, partitioned.rows) + device_cost_of_partitions(partitioned).seconds;
  const double ranked = selects_candidates(partitioned) ? candidate_rows(partitioned) : partitioned.rows;
  const auto ranking = ranking_expressions(plan);
  const double read = residency_of(columns_of(ranking), table).row_bytes;
  seconds += device_keys_cost(ranking, read, ranking_key_bytes(plan), ranked, ranked / all).seconds;
  const planner::cost::PartitionShape shape{.partitions = plan.segments.expected,
                                            .rows = ranked,
                                            .k = partitioned.wanted,
                                            .key_bytes = ranking_key_bytes(plan)};
  seconds += planner::seconds_of(planner::cost::cuda_partitions(shape));
  const std::int64_t largest = segment_rows(plan, partitioned.rows);
  const bool one_by_one = !ranks_at_once(window_of(plan.query), std::llround(plan.segments.expected), largest);
  return seconds + (one_by_one ? plan.segments.expected * planner::cost::kCudaStart : 0);
}

}  // namespace

bool may_group_on_device(const PhysicalPlan& plan, const Table& table) {
  return plan.query.group && plan.rules.rules().has(Rule::device_groups) && !plan.preference &&
         plan.constraints.algorithms.empty() && !why_host_groups(*plan.query.group, table);
}

bool pays_to_group_on_device(PhysicalPlan& plan, const Table& table) {
  return prefers_first(plan, Rule::device_groups, {"on the GPU", device_seconds_of_groups(plan, table)},
                       {"on the CPU", host_seconds_of_groups(plan)}, [&](const PhysicalPlan& high) {
                         return std::pair(device_seconds_of_groups(high, table), host_seconds_of_groups(high));
                       });
}

void group_on_device(PhysicalPlan& plan, const Table& table) {
  if (!plan.query.group || !plan.machine.cuda || !plan.rules.rules().has(Rule::device_groups)) return;
  if (!plan.on_device) return plan.rules.left_out(Rule::device_groups, "filters and keys are not made on the GPU");
  if (const auto why = why_host_groups(*plan.query.group, table)) {
    return plan.rules.left_out(Rule::device_groups, *why);
  }
  plan.device_groups = true;
  Operator& group = *plan.operators.group;
  group.device = kernels::Device::cuda;
  group.note = kSortedOnDevice;
  predict(group, device_cost_of_groups(plan, table));
  plan.rules.applied(Rule::device_groups, "rows are sorted by the codes of their groups there");
}

bool may_partition_on_device(const PhysicalPlan& plan, const Table& table) {
  return plan.operators.partition && plan.rules.rules().has(Rule::device_partitions) && !why_on_host(plan, table);
}

bool pays_to_partition_on_device(PhysicalPlan& plan, const Table& table) {
  return prefers_first(plan, Rule::device_partitions, {"on the GPU", device_seconds(plan, table)},
                       {"on the CPU", host_seconds(plan, table)}, [&](const PhysicalPlan& high) {
                         return std::pair(device_seconds(high, table), host_seconds(high, table));
                       });
}

void partition_on_device(PhysicalPlan& plan, const Table& table) {
  if (!plan.operators.partition || !plan.machine.cuda || !plan.rules.rules().has(Rule::device_partitions)) return;
  if (!plan.on_device) return plan.rules.left_out(Rule::device_partitions, "keys are not made on the GPU");
  if (const auto why = why_on_host(plan, table)) return plan.rules.left_out(Rule::device_partitions, *why);
  plan.device_partitions = true;
  Operator& partition = *plan.operators.partition;
  partition.device = kernels::Device::cuda;
  partition.note = kSortedOnDevice;
  predict(partition, device_cost_of_partitions(partitioned_shape(plan, table)));
  plan.rules.applied(Rule::device_partitions, "rows are sorted by the codes of their partitions there");
}

}  // namespace skyrank::exec
