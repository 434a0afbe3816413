#include "engine/plan/rules/device_counts.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/operators/measure/measure_plan.hpp"
#include "engine/operators/skyline/skyline_plan.hpp"
#include "engine/plan/rules/decide.hpp"
#include "kernels/cpu/levels/levels.hpp"
#include "planner/cost/cuda_common.hpp"

namespace skyrank::exec {
namespace {

using kernels::Device;

bool counts_skyband(const query::BoundQuery& query) { return query.skyband && *query.skyband != kAllRows; }

/// Returns the cost of what counts rows: the skyband and the measures.
OperatorCost counting_cost_on(const PhysicalPlan& plan, Device device) {
  OperatorCost sum;
  const auto add = [&](const OperatorCost& cost) {
    sum.seconds += cost.seconds;
    sum.bytes = std::max(sum.bytes, cost.bytes);
  };
  const double all = plan.operators.skyline_keys->estimate.rows.expected;
  if (counts_skyband(plan.query)) {
    add(skyband_cost(plan, all, plan.operators.skyline.back().estimate.rows.expected, device));
  }
  if (plan.operators.measure) add(measures_cost(plan, device));
  if (device == Device::cpu && plan.on_device) {  // the keys have to come back
    const planner::cost::CountShape shape = count_shape(plan, all, 0);
    sum.seconds += all * shape.dims * shape.key_bytes * planner::cost::kTransferByte;
  }
  return sum;
}

std::pair<double, double> seconds_of_both(const PhysicalPlan& plan) {
  return {counting_cost_on(plan, Device::cuda).seconds, counting_cost_on(plan, Device::cpu).seconds};
}

void predict_there(PhysicalPlan& plan) {
  const auto place = [](Operator& op, const OperatorCost& cost) {
    op.device = Device::cuda;
    predict(op, cost);
  };
  if (counts_skyband(plan.query)) {
    Operator& band = plan.operators.skyline.back();
    place(band, skyband_cost(plan, plan.operators.skyline_keys->estimate.rows.expected, band.estimate.rows.expected,
                             Device::cuda));
  }
  if (plan.operators.measure) place(*plan.operators.measure, measures_cost(plan, Device::cuda));
}

}  // namespace

bool counts_dominance(const query::BoundQuery& query) {
  using Kind = query::BoundMeasure::Kind;
  return counts_skyband(query) || std::ranges::any_of(query.measures, [&](const query::BoundMeasure& measure) {
           return measure.kind == Kind::dominates ||
                  (measure.kind == Kind::dominated_by && query.keeps_dominated_rows());
         });
}

std::optional<std::string_view> why_host_counts(const PhysicalPlan& plan) {
  const query::BoundQuery& query = plan.query;
  if (query.group) return "the rows are groups, which the host has";
  if (!query.partition_columns.empty()) return "rows of many partitions are counted by the CPU";
  if (query.distinct) return "equal rows count as one, which the CPU counts";
  if (plan.operators.skyline_keys->estimate.rows.high > static_cast<double>(kernels::kMaxLevelRows)) {
    return "the rows are more than can be counted";
  }
  return std::nullopt;
}

bool pays_to_count_on_device(PhysicalPlan& plan) {
  const OperatorCost there = counting_cost_on(plan, Device::cuda);
  if (there.bytes > plan.machine.device_bytes) return false;
  const auto [device, host] = seconds_of_both(plan);
  return prefers_first(plan, Rule::device_counts, {"counted by the GPU", device}, {"counted by the CPU", host},
                       [](const PhysicalPlan& high) { return seconds_of_both(high); });
}

void count_on_device(PhysicalPlan& plan, const Table& /*table*/) {
  if (!plan.preference || !counts_dominance(plan.query)) return;
  if (!plan.machine.cuda || !plan.rules.rules().has(Rule::device_counts)) return;
  if (plan.constraints.device == Device::cpu) return;
  if (const auto why = why_host_counts(plan)) {
    return plan.rules.left_out(Rule::device_counts, std::string(*why));
  }
  if (plan.constraints.device == Device::cuda) {
    plan.rules.applied(Rule::device_counts, "all kernels have to run there");
  } else if (pays_to_count_on_device(plan)) {
    plan.rules.applied(Rule::device_counts, "the GPU counts sooner");
  } else {
    return plan.rules.left_out(Rule::device_counts, "the CPU counts sooner");
  }
  plan.counts_on_device = true;
  predict_there(plan);
}

}  // namespace skyrank::exec
