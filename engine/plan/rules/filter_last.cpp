#include <algorithm>

#include "engine/device/resident.hpp"
#include "engine/expression/patterns.hpp"
#include "engine/operators/filter/filter_plan.hpp"
#include "engine/operators/skyline/monotone.hpp"
#include "engine/operators/skyline/skyline.hpp"
#include "engine/operators/skyline/skyline_plan.hpp"
#include "engine/plan/operator_cost.hpp"
#include "engine/plan/rules/decide.hpp"
#include "engine/plan/rules/rewrites.hpp"
#include "planner/choose.hpp"
#include "planner/facts/estimate.hpp"

namespace skyrank::exec {
namespace {

/// Why the skyline of the rows that pass the condition may not be the skyline of all rows, of which those that pass
/// are taken; nothing where it is.
const char* why_filter_first(const PhysicalPlan& plan) {
  const query::BoundQuery& query = plan.query;
  if (query.group || !query.partition_columns.empty() || query.levels || query.at_least || plan.operators.missing) {
    return "the query is more than a condition and a skyline";
  }
  if (query.pick) return "rows are picked of the skyline";
  if (query.skyband || !query.measures.empty()) return "rows are counted among those that pass";
  // A bound drops NULL, which beats the values that it keeps.
  if (query.nulls_first()) return "NULL comes first, and the condition may drop it";
  if (!plan.preference->steps.front().order.empty() || !Monotone(*plan.preference).keeps_preferred(*query.condition)) {
    return "the condition may drop a row that beats one that it keeps";
  }
  const auto fails = [](const query::BoundExpression& expression) { return !never_fails(expression); };
  if (fails(*query.condition) ||
      std::ranges::any_of(plan.preference->terms, fails, &query::BoundPreference::expression)) {
    return "an expression may fail on a row, which must not go unseen";
  }
  return nullptr;
}

/// A skyline of all rows, and the filter for what that keeps.
struct FilterLast {
  OperatorCost keys;
  OperatorCost filter;
  planner::Cardinality skyline_rows;
  planner::Statistics statistics;  ///< statistics of all rows
};

/// On the device the filter's columns have to go there only where the skyline's rows stay there; otherwise the host
/// looks at the few that there are.
FilterLast price_filter_last(const PhysicalPlan& plan, const Table& table) {
  const auto all = static_cast<double>(table.num_rows());
  const query::BoundExpression& condition = *plan.query.condition;
  const SkylineStep& step = plan.preference->steps.front();
  FilterLast last;
  last.keys = skyline_keys_cost(plan, table, all, false);
  last.statistics = plan.sample.preference;
  last.skyline_rows = planner::bounded_skyline_rows(
      shape_of(step, width_of(*plan.preference, step), static_cast<std::int64_t>(all)), last.statistics);
  if (plan.rows_on_device) {
    const double bytes = residency_of(columns_of({&condition}), table).row_bytes;
    last.filter = device_filter_cost(*plan.condition, bytes, last.skyline_rows.expected, last.skyline_rows.expected);
  } else {
    last.filter = filter_cost(*plan.condition, last.skyline_rows.expected, last.skyline_rows.expected, 1);
    if (plan.on_device) {
      const auto read = columns_of(preference_expressions(plan));
      last.statistics.unsent = residency_of(read, table, plan.sharing_queries > 0).unsent /
                               static_cast<double>(std::max(1, plan.sharing_queries));
    }
  }
  return last;
}

double seconds_filter_first(const PhysicalPlan& plan, const Table& table) {
  const double passing = plan.operators.skyline_keys->estimate.rows.expected;
  return first_filter_cost(plan, table).seconds + skyline_keys_cost(plan, table, passing, true).seconds +
         step_path(plan, 0, passing).seconds;
}

double seconds_filter_last(const PhysicalPlan& plan, const Table& table, const FilterLast& last) {
  const auto all = static_cast<double>(table.num_rows());
  return last.keys.seconds + step_path(plan, 0, all, last.statistics).seconds + last.filter.seconds;
}

}  // namespace

void filter_after_skyline(PhysicalPlan& plan, const Table& table) {
  Operators& operators = plan.operators;
  if (!plan.preference || !operators.filter || !plan.rules.rules().has(Rule::filter_last)) return;
  if (plan.strategy == Strategy::skyline_prefix) return plan.rules.left_out(Rule::filter_last, "it is fused");
  if (const char* const why = why_filter_first(plan)) return plan.rules.left_out(Rule::filter_last, why);
  const auto all = static_cast<double>(table.num_rows());
  const FilterLast last = price_filter_last(plan, table);
  try {
    const bool first = prefers_first(
        plan, Rule::filter_last, {"filter first", seconds_filter_first(plan, table)},
        {"skyline of all rows first", seconds_filter_last(plan, table, last)}, [&](const PhysicalPlan& high) {
          return std::pair(seconds_filter_first(high, table),
                           seconds_filter_last(high, table, price_filter_last(high, table)));
        });
    if (first) return plan.rules.left_out(Rule::filter_last, "a skyline of all rows takes longer");
  } catch (const planner::NoPath&) {
    return;  // reported when paths are chosen
  }
  operators.filter_last = true;
  plan.sample.preference = last.statistics;
  predict(*operators.skyline_keys, last.keys);
  operators.skyline_keys->estimate.rows = planner::Cardinality::exactly(all);
  predict(*operators.filter, last.filter);
  operators.filter->estimate.rows = operators.skyline.back().estimate.rows;
  operators.filter->estimate.rows.low = 0;
  if (!plan.rows_on_device) operators.filter->device.reset();
  for (Operator& step : operators.skyline) step.estimate.rows = max(step.estimate.rows, last.skyline_rows);
  plan.rules.applied(Rule::filter_last, "every row that beats a row that passes, passes too, and few rows are dropped");
}

}  // namespace skyrank::exec
