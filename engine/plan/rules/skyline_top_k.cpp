#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "engine/operators/rank/rank_plan.hpp"
#include "engine/operators/skyline/skyline_plan.hpp"
#include "engine/operators/skyline/skyline_prefix.hpp"
#include "engine/plan/rules/decide.hpp"
#include "engine/plan/rules/rewrites.hpp"
#include "planner/choose.hpp"

namespace skyrank::exec {
namespace {

/// Returns the probability that too few of the best rows are in the skyline, where `kept` of them are expected there
/// and `wanted` are asked for: a half where these are as many.
double chance_to_fail(double kept, double wanted) {
  constexpr double kSteepness = 3;
  return 1 / (1 + std::pow(kept / std::max(wanted, 1.0), kSteepness));
}

/// Gives the plan its new strategy, and the operators after the selection the rows that it leaves.
void put_selection_first(PhysicalPlan& plan, const kernels::TopKShape& shape, PathDescription path) {
  Operators& operators = plan.operators;
  const auto count = static_cast<double>(shape.k);
  // Rows that tie with the last one contend, too.
  const planner::Cardinality rows = operators.skyline_keys->estimate.rows;
  const planner::Cardinality selected = min({count, count, rows.high}, rows);
  const auto at_most_selected = [&](Operator& op) {
    op.estimate.rows = min(op.estimate.rows, {std::min(count, 1.0), count, rows.high});
  };
  const std::string fused = operators.filter ? "; fused with the filter " + operators.filter->detail : "";
  operators.skyline_prefix = make_operator(OperatorKind::skyline_prefix,
                                           describe_ranking({plan.query.ranking.front()}) + "; the best " +
                                               std::to_string(shape.k) + " and their equals contend" + fused,
                                           selected);
  operators.skyline_prefix->path = std::move(path);
  operators.skyline_prefix->fallback = "the skyline of all rows, where too few of the best are in it";
  const double share = count / rows.expected;
  operators.skyline_keys->estimate.rows = selected;
  operators.skyline_keys->estimate.ms *= share;
  operators.skyline_keys->estimate.bytes *= share;
  for (Operator& step : operators.skyline) at_most_selected(step);
  at_most_selected(*operators.rank_keys);
  plan.strategy = Strategy::skyline_prefix;
  plan.fallback = Strategy::stages;
  plan.selection = shape;
}

/// Returns the seconds of the filter, the keys and the skyline of all rows.
double seconds_of_whole(const PhysicalPlan& plan) {
  const Operators& operators = plan.operators;
  const double before = operators.skyline_keys->estimate.ms + (operators.filter ? operators.filter->estimate.ms : 0);
  return step_path(plan, 0, operators.skyline_keys->estimate.rows.expected).seconds + before * 1e-3;
}

}  // namespace

void select_before_skyline(PhysicalPlan& plan, const Table& table) {
  if (!plan.preference || plan.query.ranking.empty() || !plan.rules.rules().has(Rule::skyline_top_k)) return;
  const auto leave_out = [&](const char* why) { plan.rules.left_out(Rule::skyline_top_k, why); };
  if (plan.on_device) return leave_out("keys are made on the GPU");
  if (const auto why = why_no_skyline_prefix(plan.query, plan.preference, table)) return leave_out(why->c_str());
  const Operators& operators = plan.operators;
  const double rows = operators.skyline_keys->estimate.rows.expected;
  const auto k = static_cast<double>(plan.query.offset) + static_cast<double>(*plan.query.limit);
  if (operators.skyline.back().estimate.rows.expected < 2 * k)
    return leave_out("the skyline is expected to be too small");
  const std::int64_t count = prefix_rows_for(static_cast<std::int64_t>(k));
  if (4 * static_cast<double>(count) > rows) return leave_out("there are too few rows for so long an answer");
  const kernels::TopKShape shape = skyline_prefix_shape(plan.query, table, count);
  try {
    const auto selection = planner::choose(shape, plan.constraints, plan.machine, skyline_prefix_statistics(plan));
    const planner::Statistics contending = skyline_of_prefix(plan, shape);
    const auto prefix = step_path(plan, 0, static_cast<double>(count), contending);
    // It may not help, so that the whole skyline comes after it.
    const double whole_too = chance_to_fail(contending.growth.rows(static_cast<double>(count)), k);
    const double whole_seconds = seconds_of_whole(plan);
    const double first = selection.seconds + prefix.seconds + whole_too * whole_seconds;
    const bool takes_whole = prefers_first(plan, Rule::skyline_top_k, {"skyline of all rows", whole_seconds},
                                           {"best of the ranking first", first}, [&](const PhysicalPlan& high) {
                                             const double whole = seconds_of_whole(high);
                                             return std::pair(whole, first + whole);
                                           });
    if (takes_whole) return leave_out("the whole skyline is not much dearer");
    put_selection_first(plan, shape, describe_path(selection));
  } catch (const planner::NoPath&) {
    return leave_out("no algorithm that may be used selects rows by a fused ranking");
  }
  plan.rules.applied(Rule::skyline_top_k, "the ranking never puts a row before one that dominates it");
}

}  // namespace skyrank::exec
