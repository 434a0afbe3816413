#include "engine/operators/group/group_plan.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/operators/group/slots/numbering_cost.hpp"
#include "engine/operators/partition/partition_plan.hpp"
#include "engine/plan/estimate.hpp"
#include "engine/query/enum_words.hpp"
#include "engine/text.hpp"
#include "planner/cost/cuda_common.hpp"

namespace skyrank::exec {
namespace {

std::string describe_aggregate(const query::BoundAggregate& aggregate) {
  return aggregate.name + ": " + std::string(query::word_for(aggregate.function)) + "(" +
         (aggregate.argument ? aggregate.argument->text : "") + ")";
}

OperatorCost group_cost(const query::BoundGroup& group, const GroupingShape& shape, int threads) {
  double row = 0;
  for (const query::BoundAggregate& aggregate : group.aggregates) {
    if (aggregate.argument) row += unit_cost::kAggregate + evaluation_seconds(lower(*aggregate.argument->root));
  }
  const auto aggregates = static_cast<double>(group.aggregates.size());
  const auto columns = static_cast<double>(shape.types.size()) + aggregates;
  const double seconds =
      numbering_seconds(shape) + shape.rows * row + shape.groups * aggregates * unit_cost::kGroupAggregate;
  return {start_and(seconds, threads), number_bytes(shape) + shape.groups * columns * sizeof(std::int64_t)};
}

}  // namespace

std::string describe_group(const query::BoundGroup& group, const Table& table) {
  const std::string columns = query::join(group.columns, [&](int column) { return table.column(column).name(); });
  const std::string aggregates = query::join(group.aggregates, describe_aggregate);
  if (group.columns.empty()) return "all rows; " + aggregates;
  return aggregates.empty() ? columns : columns + "; " + aggregates;
}

planner::Cardinality lay_out_group(PhysicalPlan& plan, const Table& table, const planner::Cardinality& rows) {
  if (!plan.query.group) return rows;
  const query::BoundGroup& columns = *plan.query.group;
  std::vector<DataType> types;
  for (const int column : columns.columns) types.push_back(table.column(column).type());
  const planner::Cardinality groups =
      types.empty() ? planner::Cardinality::exactly(1)
                    : min(plan.sample.groups.value_or(bounded_guess_of_groups(rows, types)), rows);
  Operator& group =
      plan.operators.group.emplace(make_operator(OperatorKind::group, describe_group(columns, table), groups));
  predict(group, group_cost(columns, {types, plan.numbering, rows.expected, groups.expected}, plan.machine.threads));
  group.note = describe(plan.numbering);
  if (plan.sample.groups) {
    group.statistics = {{"sample", static_cast<double>(plan.sample.rows)}, {"groups", plan.sample.groups->expected}};
  }
  return groups;
}

// Values are read here and there. Totals of groups come to the host, which makes columns of them. Where a ranking wants
// the best groups alone, its keys are sorted there before.
OperatorCost device_group_cost(const DeviceGroupingShape& shape) {
  constexpr double kTotal = 40;  // bytes of a group
  constexpr double kFirst = 12;
  constexpr double kSortedKey = 2 * 8 * 9;  // bytes that a radix sort moves
  const OperatorCost sorted = device_partition_cost(shape.rows, shape.groups, shape.column_bytes, 0);
  const double added = shape.totals * (2 * planner::cost::kCudaLaunch + planner::cost::kCudaWait +
                                       shape.rows * kSectorBytes * planner::cost::kCudaByte);
  const double left = shape.host_groups < shape.groups ? 12 * planner::cost::kCudaLaunch + planner::cost::kCudaWait +
                                                             shape.groups * kSortedKey * planner::cost::kCudaByte
                                                       : 0;
  const double sent = shape.host_groups * (kFirst + shape.totals * kTotal) * planner::cost::kTransferByte;
  return {sorted.seconds + added + left + sent + shape.host_groups * shape.columns * unit_cost::kHomeValue,
          sorted.bytes + shape.groups * shape.totals * kTotal};
}

}  // namespace skyrank::exec
