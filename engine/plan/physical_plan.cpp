#include "engine/plan/physical_plan.hpp"

#include <algorithm>

namespace skyrank::exec {

using kernels::KeyWidth;

PhysicalPlan plan_at_high(const PhysicalPlan& plan) {
  PhysicalPlan high = plan;
  high.constraints.lists_candidates = false;
  high.segments = planner::Cardinality::exactly(plan.segments.high);
  high.sample.preference = planner::at_high(plan.sample.preference);
  high.sample.ranking = planner::at_high(plan.sample.ranking);
  double read = 1;  // rows that an operator reads, over those that it is expected to read
  const auto raise = [&](Operator& op) {
    const planner::Cardinality rows = op.estimate.rows;
    const double given = rows.high / std::max(rows.expected, 1.0);
    const double more = op.kind == OperatorKind::group ? std::max(read, given) : read;
    op.estimate = {planner::Cardinality::exactly(rows.high), more * op.estimate.ms, more * op.estimate.bytes};
    read = std::max(given, 1.0);
  };
  Operators& ops = high.operators;
  for (auto* op : {&ops.filter, &ops.group, &ops.having, &ops.missing, &ops.partition, &ops.skyline_keys}) {
    if (*op) raise(**op);
  }
  for (Operator& step : ops.skyline) raise(step);
  for (auto* op : {&ops.measure, &ops.pick, &ops.rank_keys, &ops.order}) {
    if (*op) raise(**op);
  }
  raise(ops.gather);
  return high;
}

double at_least_one(double rows, double input) { return std::min(std::max(rows, 1.0), input); }

std::int64_t segment_rows(const PhysicalPlan& plan, double rows) {
  return static_cast<std::int64_t>(at_least_one(rows / std::max(plan.segments.expected, 1.0), rows));
}

bool is_listed(const PhysicalPlan& plan) {
  return (plan.operators.filter && !plan.operators.group) || plan.operators.having || plan.operators.missing;
}

RowsOfKeys rows_of_keys(const PhysicalPlan& plan, const Table& table, double rows, bool listed) {
  const bool is_permuted = plan.operators.partition.has_value();
  return {rows, listed || is_permuted ? static_cast<double>(table.num_rows()) : 0, is_permuted};
}

KeyWidth width_of(const query::BoundExpression& expression) {
  if (expression.type.type == Type::string) return KeyWidth::bytes4;  // ranks
  return static_cast<KeyWidth>(std::clamp(width_in_bytes(expression.type.type), 1, 8));
}

double partitions_to_solve(const PhysicalPlan& plan, double rows) {
  return std::min(plan.segments.expected, std::max(rows - plan.segments.expected, 1.0));
}

planner::Machine machine_beside(const PhysicalPlan& plan, const std::optional<Operator>& keys) {
  planner::Machine machine = plan.machine;
  const Operators& operators = plan.operators;
  for (const auto* op :
       {&operators.filter, &operators.group, &operators.having, &operators.missing, &operators.partition, &keys}) {
    if (*op) machine.host_bytes = std::max(machine.host_bytes - (*op)->estimate.bytes, 0.0);
  }
  return machine;
}

}  // namespace skyrank::exec
