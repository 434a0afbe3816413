#include "engine/operators/partition/partition_plan.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine/operators/group/slots/numbering_cost.hpp"
#include "engine/plan/estimate.hpp"
#include "engine/text.hpp"
#include "planner/cost/cuda_common.hpp"

namespace skyrank::exec {
namespace {

/// Name and type of a column after group_by, if there is one.
query::Schema::Field field_of(const query::BoundQuery& query, const Table& table, int column) {
  const auto index = static_cast<std::size_t>(column);
  if (!query.group) return {table.column(column).name(), table.column(column).type()};
  if (index < query.group->columns.size()) {
    const Column& key = table.column(query.group->columns[index]);
    return {key.name(), key.type()};
  }
  const query::BoundAggregate& aggregate = query.group->aggregates[index - query.group->columns.size()];
  return {aggregate.name, aggregate.type};
}

OperatorCost partition_cost(const GroupingShape& shape, int threads) {
  const OperatorCost numbering = numbering_cost(shape, threads);
  return {numbering.seconds + shape.rows * unit_cost::kListed, numbering.bytes + 2 * shape.rows * sizeof(std::int64_t)};
}

}  // namespace

planner::Cardinality lay_out_partition(PhysicalPlan& plan, const Table& table, const planner::Cardinality& rows) {
  const query::BoundQuery& query = plan.query;
  if (query.partition_columns.empty()) return rows;
  std::vector<query::Schema::Field> fields;
  for (const int column : query.partition_columns) fields.push_back(field_of(query, table, column));
  std::vector<DataType> types;
  for (const auto& field : fields) types.push_back(field.type);
  const bool looked_at = plan.sample.groups && !query.group;
  plan.segments = min(looked_at ? *plan.sample.groups : bounded_guess_of_groups(rows, types), rows);
  const std::string names = query::join(fields, [](const auto& field) { return field.name; });
  Operator& partition = plan.operators.partition.emplace(make_operator(OperatorKind::partition, names, rows));
  const Numbering numbering = query.group ? Numbering::by_values : plan.numbering;
  predict(partition, partition_cost({types, numbering, rows.expected, plan.segments.expected}, plan.machine.threads));
  partition.note = describe(numbering);
  if (looked_at) {
    partition.statistics = {{"sample", static_cast<double>(plan.sample.rows)}, {"partitions", plan.segments.expected}};
  }
  return rows;
}

// Codes and their range are two passes over the columns. A radix sort moves pairs of 4 and 4 bytes once for 8 bits, and
// once before; two passes over the codes find where partitions begin. Keys are read here and there.
OperatorCost device_partition_cost(double rows, double groups, double column_bytes, double key_bytes) {
  constexpr double kLaunches = 20;
  constexpr double kWaits = 6;
  constexpr double kPair = 8;
  constexpr double kCode = 4;
  const double passes = std::ceil(std::log2(std::max(groups, 2.0)) / 8) + 1;
  const double row = 2 * column_bytes + 2 * kCode + 2 * kPair * passes + 2 * kCode + kCode + kSectorBytes + key_bytes;
  return {kLaunches * planner::cost::kCudaLaunch + kWaits * planner::cost::kCudaWait +
              rows * row * planner::cost::kCudaByte,
          2 * rows * kPair};
}

bool selects_candidates(const PartitionedShape& shape) {
  constexpr double kMaxGroups = 65'536;
  constexpr double kMaxWanted = 256;
  constexpr double kSampledRows = 64;  // for each wanted row of a group
  return shape.groups <= kMaxGroups && shape.wanted <= kMaxWanted &&
         shape.groups * std::max(shape.wanted, 16.0) * kSampledRows <= shape.rows;
}

double candidate_rows(const PartitionedShape& shape) {
  constexpr double kStride = 80;  // rows for each that the sample looks at, and what bounds leave room for
  return std::min(shape.rows / 4, shape.groups * shape.wanted * kStride);
}

// One pass for the range of the codes, and one over both columns. The rows that are left are sorted.
OperatorCost device_candidates_cost(const PartitionedShape& shape) {
  constexpr double kLaunches = 12;
  constexpr double kWaits = 3;
  const OperatorCost sorted = device_partition_cost(candidate_rows(shape), shape.groups, sizeof(std::uint32_t), 0);
  const double row = 2 * shape.column_bytes + shape.key_bytes;
  return {sorted.seconds + kLaunches * planner::cost::kCudaLaunch + kWaits * planner::cost::kCudaWait +
              shape.rows * row * planner::cost::kCudaByte,
          sorted.bytes + shape.rows * sizeof(std::uint32_t) / 4};
}

}  // namespace skyrank::exec
