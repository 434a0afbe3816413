#include "engine/operators/measure/measure_plan.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/operators/skyline/skyline_plan.hpp"
#include "engine/plan/operator_cost.hpp"
#include "engine/text.hpp"
#include "kernels/cpu/dominance_counts/dominance_counts.hpp"

namespace skyrank::exec {
namespace {

/// Returns the cost of counting, on the CPU, the rows that `kept` of `all` dominate.
OperatorCost dominates_cost(const PhysicalPlan& plan, double kept, double all) {
  namespace counts = kernels::dominance_counts;
  const double partitions = std::max(plan.segments.expected, 1.0);
  const bool are_few = kept / partitions <= counts::kMaxFew && all / partitions >= counts::kMinFewOf;
  if (!are_few || plan.query.distinct) return counting_cost(plan, all, 2 * kept, Counting::exact);
  const auto dims = static_cast<double>(plan.preference->steps.front().keys.size());
  const double wanted = kept / partitions;
  const double tiles = std::ceil(wanted / counts::kFewTile);
  const double of_row = wanted <= counts::kMaxHandful ? wanted * dims * unit_cost::kCountPair
                                                      : dims * (unit_cost::kCountPlace + tiles * unit_cost::kCountSet);
  return {start_and(all * of_row, plan.machine.threads), kept * sizeof(std::int64_t)};
}

/// Returns the cost of one measure of `kept` rows, which a preference chose from `all`.
OperatorCost measure_cost(const PhysicalPlan& plan, query::BoundMeasure::Kind kind, double kept, double all,
                          kernels::Device device) {
  const bool on_gpu = device == kernels::Device::cuda;
  switch (kind) {
    case query::BoundMeasure::Kind::level:
      return {unit_cost::kStart + kept * unit_cost::kGatherValue, kept * sizeof(std::int32_t)};
    case query::BoundMeasure::Kind::dominated_by:
      if (!plan.query.keeps_dominated_rows()) return {unit_cost::kStart, kept * sizeof(std::int64_t)};
      return on_gpu ? device_cost(plan, planner::cost::cuda_counts(count_shape(plan, kept, kept)))
                    : counting_cost(plan, kept, kept, Counting::exact);
    case query::BoundMeasure::Kind::dominates:
      return on_gpu ? device_cost(plan, planner::cost::cuda_counts(count_shape(plan, all, kept)))
                    : dominates_cost(plan, kept, all);
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

OperatorCost measures_cost(const PhysicalPlan& plan, kernels::Device device) {
  const double all = plan.operators.skyline_keys->estimate.rows.expected;
  const double kept = plan.operators.measure->estimate.rows.expected;
  OperatorCost sum;
  for (const query::BoundMeasure& measure : plan.query.measures) {
    const OperatorCost cost = measure_cost(plan, measure.kind, kept, all, device);
    sum.seconds += cost.seconds;
    sum.bytes = std::max(sum.bytes, cost.bytes);
  }
  return sum;
}

planner::Cardinality lay_out_measure(PhysicalPlan& plan, const Table& /*table*/, const planner::Cardinality& rows) {
  const auto& measures = plan.query.measures;
  if (measures.empty()) return rows;
  Operator& op = plan.operators.measure.emplace(
      make_operator(OperatorKind::measure, query::join(measures, [](const auto& one) { return one.text; }), rows));
  op.device = kernels::Device::cpu;
  predict(op, measures_cost(plan, kernels::Device::cpu));
  return rows;
}

}  // namespace skyrank::exec
