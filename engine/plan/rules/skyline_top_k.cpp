#include "engine/plan/rules/skyline_top_k.hpp"

#include <algorithm>
#include <string>

#include "engine/operators/skyline/skyline_prefix.hpp"
#include "engine/plan/describe.hpp"
#include "engine/plan/layout.hpp"
#include "engine/plan/paths.hpp"
#include "planner/choose.hpp"

namespace skyrank::exec {

void select_before_skyline(PhysicalPlan& plan, const Table& table) {
  if (!plan.preference || plan.query.ranking.empty() || !plan.rules.rules().has(Rule::skyline_top_k)) return;
  const auto leave_out = [&](const char* why) { plan.rules.left_out(Rule::skyline_top_k, why); };
  if (plan.on_device) return leave_out("keys are made on the GPU");
  if (const auto why = why_no_skyline_prefix(plan.query, plan.preference, table)) return leave_out(why->c_str());
  Operators& operators = plan.operators;
  const double rows = operators.skyline_keys->estimate.rows;
  const auto k = static_cast<double>(plan.query.offset) + static_cast<double>(*plan.query.limit);
  if (operators.skyline.back().estimate.rows < 2 * k) return leave_out("the skyline is expected to be too small");
  const std::int64_t count = prefix_rows_for(static_cast<std::int64_t>(k));
  if (4 * static_cast<double>(count) > rows) return leave_out("there are too few rows for so long an answer");
  const kernels::TopKShape shape = skyline_prefix_shape(plan.query, table, count);
  try {
    const auto selection = planner::choose(shape, plan.constraints, plan.machine, skyline_prefix_statistics(plan));
    const double whole = step_path(plan, 0, rows).seconds * 1e3 + operators.skyline_keys->estimate.ms +
                         (operators.filter ? operators.filter->estimate.ms : 0);
    plan.skyline_prefix = shape;
    // It may be in vain, so it has to be a good deal cheaper.
    const double with = (selection.seconds + step_path(plan, 0, static_cast<double>(count)).seconds) * 1e3;
    if (2 * with > whole) {
      plan.skyline_prefix.reset();
      return leave_out("the whole skyline is not much dearer");
    }
    operators.skyline_prefix =
        make_operator(OperatorKind::skyline_prefix,
                      describe_ranking({plan.query.ranking.front()}) + "; the best " + std::to_string(count) +
                          " and their equals contend" +
                          (operators.filter ? "; fused with the filter " + operators.filter->detail : ""),
                      static_cast<double>(count));
    operators.skyline_prefix->path = describe_path(selection);
  } catch (const planner::NoPath&) {
    plan.skyline_prefix.reset();
    return leave_out("no algorithm that may be used selects rows by a fused ranking");
  }
  const double share = static_cast<double>(count) / rows;
  operators.skyline_keys->estimate.rows = static_cast<double>(count);
  operators.skyline_keys->estimate.ms *= share;
  operators.skyline_keys->estimate.bytes *= share;
  for (Operator& step : operators.skyline)
    step.estimate.rows = std::min(step.estimate.rows, static_cast<double>(count));
  operators.rank_keys->estimate.rows = std::min(operators.rank_keys->estimate.rows, static_cast<double>(count));
  plan.rules.applied(Rule::skyline_top_k, "the ranking never puts a row before one that dominates it");
}

}  // namespace skyrank::exec
