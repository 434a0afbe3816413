#include "engine/plan/physical_plan.hpp"

#include <algorithm>

namespace skyrank::exec {

using kernels::KeyWidth;

double at_least_one(double rows, double input) { return std::min(std::max(rows, 1.0), input); }

std::int64_t segment_rows(const PhysicalPlan& plan, double rows) {
  return static_cast<std::int64_t>(at_least_one(rows / std::max(plan.segments, 1.0), rows));
}

bool is_listed(const PhysicalPlan& plan) {
  return (plan.operators.filter && !plan.operators.group) || plan.operators.missing.has_value();
}

KeyWidth width_of(const query::BoundExpression& expression) {
  if (expression.type.type == Type::string) return KeyWidth::bytes4;  // ranks
  return static_cast<KeyWidth>(std::clamp(width_in_bytes(expression.type.type), 1, 8));
}

double partitions_to_solve(const PhysicalPlan& plan, double rows) {
  return std::min(plan.segments, std::max(rows - plan.segments, 1.0));
}

planner::Machine machine_beside(const PhysicalPlan& plan, const std::optional<Operator>& keys) {
  planner::Machine machine = plan.machine;
  const Operators& operators = plan.operators;
  for (const auto* op : {&operators.filter, &operators.group, &operators.missing, &operators.partition, &keys}) {
    if (*op) machine.host_bytes = std::max(machine.host_bytes - (*op)->estimate.bytes, 0.0);
  }
  return machine;
}

}  // namespace skyrank::exec
