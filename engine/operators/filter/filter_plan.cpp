#include "engine/operators/filter/filter_plan.hpp"

#include <algorithm>

#include "engine/device/resident.hpp"
#include "engine/plan/estimate.hpp"
#include "planner/cost/cuda_common.hpp"

namespace skyrank::exec {

using planner::Cardinality;

Cardinality lay_out_filter(PhysicalPlan& plan, const Table& table, const Cardinality& rows) {
  if (!plan.query.condition) return rows;
  const query::BoundExpression& condition = *plan.query.condition;
  const double share = plan.sample.selectivity.value_or(guess_selectivity(*plan.condition));
  const double expected = at_least_one(rows.expected * share, rows.expected);
  const Cardinality bounds =
      plan.sample.selectivity ? plan.sample.passing(rows.expected) : Cardinality{.high = rows.high};
  const Cardinality passing = min(Cardinality::around(bounds.low, expected, bounds.high), rows);
  Operator& filter = plan.operators.filter.emplace(make_operator(OperatorKind::filter, condition.text, passing));
  predict(filter, filter_cost(*plan.condition, static_cast<double>(table.num_rows()), expected, plan.machine.threads));
  if (plan.sample.selectivity) {
    filter.statistics = {{"sample", static_cast<double>(plan.sample.rows)}, {"selectivity", share}};
  }
  return passing;
}

Cardinality lay_out_having(PhysicalPlan& plan, const Table& /*table*/, const Cardinality& groups) {
  if (!plan.query.having) return groups;
  const Ir condition = lower(*plan.query.having->root);
  const double expected = at_least_one(groups.expected * guess_selectivity(condition), groups.expected);
  const Cardinality passing = min(Cardinality::around(0, expected, groups.high), groups);
  Operator& having =
      plan.operators.having.emplace(make_operator(OperatorKind::filter, plan.query.having->text, passing));
  predict(having, filter_cost(condition, groups.expected, expected, plan.machine.threads));
  return passing;
}

OperatorCost filter_cost(const Ir& condition, double rows, double kept, int threads) {
  const double ids = kept * sizeof(std::int64_t);
  return {std::max(start_and(rows * evaluation_seconds(condition) + kept * unit_cost::kListRow, threads),
                   memory_seconds(condition, rows, ids, threads)),
          ids};
}

// Bits of the rows, sums of these, ids, and two waits of the host: whether a row failed, and how many pass.
OperatorCost device_filter_cost(const Ir& condition, double column_bytes, double rows, double kept) {
  constexpr double kLaunches = 5;
  constexpr double kBits = 0.5;  // bytes of bits and their sums, written and read
  const double written = kept * sizeof(std::int64_t);
  const double moved = rows * (column_bytes + kBits) + written;
  return {kLaunches * planner::cost::kCudaLaunch + 2 * planner::cost::kCudaWait + moved * planner::cost::kCudaByte +
              rows * count_operations(condition) * unit_cost::kDeviceOperation,
          written};
}

OperatorCost first_filter_cost(const PhysicalPlan& plan, const Table& table) {
  const query::BoundExpression& condition = *plan.query.condition;
  const auto all = static_cast<double>(table.num_rows());
  const double passing = plan.operators.filter->estimate.rows.expected;
  if (!plan.on_device) return filter_cost(*plan.condition, all, passing, plan.machine.threads);
  return device_filter_cost(*plan.condition, residency_of(columns_of({&condition}), table).row_bytes, all, passing);
}

}  // namespace skyrank::exec
