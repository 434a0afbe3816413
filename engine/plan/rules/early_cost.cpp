#include "engine/plan/rules/early_cost.hpp"

#include <algorithm>

#include "engine/device/resident.hpp"

namespace skyrank::exec {

std::vector<const query::BoundExpression*> preference_expressions(const PhysicalPlan& plan) {
  std::vector<const query::BoundExpression*> expressions;
  for (const query::BoundPreference& term : plan.preference->terms) expressions.push_back(&term.expression);
  return expressions;
}

OperatorCost first_filter_cost(const PhysicalPlan& plan, const Table& table) {
  const query::BoundExpression& condition = *plan.query.condition;
  const auto all = static_cast<double>(table.num_rows());
  const double passing = plan.operators.filter->estimate.rows;
  if (!plan.on_device) return filter_cost(*plan.condition, all, passing, plan.machine.threads);
  return device_filter_cost(*plan.condition, residency_of(columns_of({&condition}), table).row_bytes, all, passing);
}

OperatorCost skyline_keys_cost(const PhysicalPlan& plan, const Table& table, double rows, bool listed) {
  const Operator& keys = *plan.operators.skyline_keys;
  const double bytes = keys.estimate.bytes / std::max(keys.estimate.rows, 1.0);
  const auto expressions = preference_expressions(plan);
  if (!plan.on_device) return keys_cost(expressions, bytes, rows, listed, plan.machine.threads);
  const double share = listed ? rows / std::max<double>(static_cast<double>(table.num_rows()), 1) : 1;
  return device_keys_cost(expressions, residency_of(columns_of(expressions), table).row_bytes, bytes, rows, share);
}

}  // namespace skyrank::exec
