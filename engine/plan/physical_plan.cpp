#include "engine/plan/physical_plan.hpp"

#include <algorithm>

#include "planner/facts/estimate.hpp"

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

KeyWidth width_of(const query::BoundPreference& term) {
  const bool few_values = term.kind == Preference::Kind::in || term.kind == Preference::Kind::where;
  return few_values ? KeyWidth::bytes1 : width_of(term.expression);
}

KeyWidth width_of(const PreferencePlan& plan, const SkylineStep& step) {
  int widest = 0;
  for (const KeyTerms& key : step.keys) {
    int bytes = 0;
    for (const std::size_t term : key) bytes += static_cast<int>(width_of(plan.terms[term]));
    widest = std::max(widest, bytes);
  }
  return widest > 4 ? KeyWidth::bytes8 : KeyWidth::bytes4;
}

std::vector<KeyWidth> ranking_widths(const PhysicalPlan& plan) {
  std::vector<KeyWidth> widths;
  for (const query::BoundRankTerm& term : plan.query.ranking) widths.push_back(width_of(term.expression));
  return widths;
}

FusedOptions fused_options(const PhysicalPlan& plan) {
  const Rules& rules = plan.rules.rules();
  return {.late_filter = rules.has(Rule::late_filter),
          .zone_maps = rules.has(Rule::zone_maps),
          .weighted_sum = rules.has(Rule::weighted_sum),
          .raw_floats = rules.has(Rule::raw_floats)};
}

bool packs_ranking(const PhysicalPlan& plan) { return plan.rules.rules().has(Rule::packed_ranking); }

planner::Statistics skyline_of_prefix(const PhysicalPlan& plan, const kernels::TopKShape& selection) {
  const auto count = static_cast<double>(selection.k);
  planner::Statistics statistics;
  statistics.sample = plan.sample.preference.sample;
  statistics.growth = {
      .sample = count,
      .dims = planner::effective_dims(count, std::min(plan.operators.skyline.front().estimate.rows, count))};
  return statistics;
}

planner::Statistics skyline_prefix_statistics(const PhysicalPlan& plan) {
  planner::Statistics statistics;
  statistics.selectivity = plan.sample.selectivity.value_or(1);
  return statistics;
}

namespace {

void add_values(const query::BoundPreference& preference, std::vector<const query::BoundExpression*>& expressions) {
  if (preference.children.empty() && preference.kind != Preference::Kind::where) {
    expressions.push_back(&preference.expression);
  }
  for (const query::BoundPreference& child : preference.children) add_values(child, expressions);
}

}  // namespace

std::vector<const query::BoundExpression*> value_expressions(const query::BoundQuery& query) {
  std::vector<const query::BoundExpression*> expressions;
  if (query.preference) add_values(*query.preference, expressions);
  for (const query::BoundRankTerm& term : query.ranking) expressions.push_back(&term.expression);
  return expressions;
}

}  // namespace skyrank::exec
