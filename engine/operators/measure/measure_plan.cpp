#include "engine/operators/measure/measure_plan.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/operators/skyline/skyline_plan.hpp"
#include "engine/plan/operator_cost.hpp"
#include "engine/text.hpp"

namespace skyrank::exec {
namespace {

using Kind = query::BoundMeasure::Kind;

/// Returns the cost of one measure of `kept` rows, which a preference chose from `all`.
OperatorCost measure_cost(const PhysicalPlan& plan, Kind kind, double kept, double all) {
  switch (kind) {
    case Kind::level: return {unit_cost::kStart + kept * unit_cost::kGatherValue, kept * sizeof(std::int32_t)};
    case Kind::dominated_by: return counting_cost(plan, kept, kept);
    case Kind::dominates: return counting_cost(plan, all, 2 * kept);
    default: break;
  }
  // Values of the rows of whole levels, and their order by each term.
  const double rows = plan.query.skyband ? all : kept;
  const auto dims = static_cast<double>(plan.preference->terms.size());
  const double steps = rows * dims * std::log2(std::max(rows, 2.0));
  return {unit_cost::kStart + steps * unit_cost::kCountStep / std::max(plan.machine.threads, 1),
          rows * (dims + 2) * sizeof(double)};
}

}  // namespace

planner::Cardinality lay_out_measure(PhysicalPlan& plan, const Table& /*table*/, const planner::Cardinality& rows) {
  const auto& measures = plan.query.measures;
  if (measures.empty()) return rows;
  Operator& op = plan.operators.measure.emplace(
      make_operator(OperatorKind::measure, query::join(measures, [](const auto& one) { return one.text; }), rows));
  op.device = kernels::Device::cpu;
  OperatorCost sum;
  for (const query::BoundMeasure& measure : measures) {
    const double all = plan.operators.skyline_keys->estimate.rows.expected;
    const OperatorCost cost = measure_cost(plan, measure.kind, rows.expected, all);
    sum.seconds += cost.seconds;
    sum.bytes = std::max(sum.bytes, cost.bytes);
  }
  predict(op, sum);
  return rows;
}

}  // namespace skyrank::exec
