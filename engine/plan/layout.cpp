#include "engine/plan/layout.hpp"

#include <algorithm>
#include <utility>

#include "engine/operators/rank.hpp"
#include "engine/operators/skyline/skyline.hpp"
#include "engine/plan/describe.hpp"
#include "engine/plan/estimate.hpp"
#include "planner/facts/estimate.hpp"

namespace skyrank::exec {
namespace {

/// Name and type of a column after group_by, if there is one.
query::Schema::Field field_of(const query::BoundQuery& query, const Table& table, int column) {
  const auto index = static_cast<std::size_t>(column);
  if (!query.group) return {table.column(column).name(), table.column(column).type()};
  if (index < query.group->columns.size()) {
    const Column& key = table.column(query.group->columns[index]);
    return {key.name(), key.type()};
  }
  const query::BoundAggregate& aggregate = query.group->aggregates[index - query.group->columns.size()];
  return {aggregate.name, aggregate.type};
}

std::string describe(Numbering numbering) {
  return numbering == Numbering::by_hashing ? "numbered by hash, as values are far apart"
                                            : "numbered by value where values are close together, else by hash";
}

void plan_filter(PhysicalPlan& plan, const Table& table, double& rows) {
  if (!plan.query.condition) return;
  const query::BoundExpression& condition = *plan.query.condition;
  const double share = plan.sample.selectivity.value_or(guess_selectivity(*plan.condition));
  rows = at_least_one(rows * share, rows);
  Operator& filter = plan.operators.filter.emplace(make_operator(OperatorKind::filter, condition.text, rows));
  predict(filter, filter_cost(*plan.condition, static_cast<double>(table.num_rows()), rows, plan.machine.threads));
  if (plan.sample.selectivity) {
    filter.statistics = {{"sample", static_cast<double>(plan.sample.rows)}, {"selectivity", share}};
  }
}

void plan_group(PhysicalPlan& plan, const Table& table, double& rows) {
  if (!plan.query.group) return;
  const query::BoundGroup& columns = *plan.query.group;
  std::vector<DataType> types;
  for (const int column : columns.columns) types.push_back(table.column(column).type());
  const double input = rows;
  rows = std::min(rows, plan.sample.groups.value_or(guess_groups(rows, types)));
  Operator& group =
      plan.operators.group.emplace(make_operator(OperatorKind::group, describe_group(columns, table), rows));
  predict(group, group_cost(columns, {types, plan.numbering, input, rows}, plan.machine.threads));
  group.note = describe(plan.numbering);
  if (plan.sample.groups) {
    group.statistics = {{"sample", static_cast<double>(plan.sample.rows)}, {"groups", *plan.sample.groups}};
  }
}

void plan_missing(PhysicalPlan& plan, double rows) {
  const query::BoundQuery& query = plan.query;
  if (!query::drops_or_refuses(query.nan_rule) && !query::drops_or_refuses(query.null_rule)) return;
  Operator& missing =
      plan.operators.missing.emplace(make_operator(OperatorKind::missing, describe_missing(query), rows));
  predict(missing, missing_cost(value_expressions(query), rows, plan.machine.threads));
}

void plan_partition(PhysicalPlan& plan, const Table& table, double rows) {
  const query::BoundQuery& query = plan.query;
  if (query.partition_columns.empty()) return;
  std::vector<query::Schema::Field> fields;
  for (const int column : query.partition_columns) fields.push_back(field_of(query, table, column));
  std::vector<DataType> types;
  for (const auto& field : fields) types.push_back(field.type);
  const bool looked_at = plan.sample.groups && !query.group;
  plan.segments = looked_at ? std::min(rows, *plan.sample.groups) : guess_groups(rows, types);
  const std::string names = join(fields, [](const auto& field) { return field.name; });
  Operator& partition = plan.operators.partition.emplace(make_operator(OperatorKind::partition, names, rows));
  const Numbering numbering = query.group ? Numbering::by_values : plan.numbering;
  predict(partition, partition_cost({types, numbering, rows, plan.segments}, plan.machine.threads));
  partition.note = describe(numbering);
  if (looked_at) {
    partition.statistics = {{"sample", static_cast<double>(plan.sample.rows)}, {"partitions", plan.segments}};
  }
}

void plan_skyline(PhysicalPlan& plan, double& rows) {
  if (!plan.preference) return;
  const PreferencePlan& preference = *plan.preference;
  std::string all;
  for (const SkylineStep& step : preference.steps) all += (all.empty() ? "" : "; then ") + describe(preference, step);
  plan.operators.skyline_keys = make_operator(OperatorKind::skyline_keys, all, rows);
  std::vector<const query::BoundExpression*> expressions;
  for (const query::BoundPreference& term : preference.terms) expressions.push_back(&term.expression);
  double bytes = 0;
  for (const SkylineStep& step : preference.steps) {
    bytes += static_cast<double>(step.keys.size()) * static_cast<double>(width_of(preference, step));
  }
  predict(*plan.operators.skyline_keys, keys_cost(expressions, bytes, rows, is_listed(plan), plan.machine.threads));
  for (std::size_t s = 0; s < preference.steps.size(); ++s) {
    const SkylineStep& step = preference.steps[s];
    if (s == 0) {  // later steps only decide between equal rows, of which nothing is known
      const double levels = static_cast<double>(plan.query.levels.value_or(1));
      const kernels::SkylineShape shape = shape_of(step, kernels::KeyWidth::bytes4, segment_rows(plan, rows));
      const double segment = planner::skyline_rows(shape, plan.sample.preference);
      const double kept =
          std::max(levels * segment * plan.segments, static_cast<double>(plan.query.at_least.value_or(0)));
      rows = std::min(rows, kept);
    }
    const bool last = s + 1 == preference.steps.size();
    plan.operators.skyline.push_back(make_operator(
        OperatorKind::skyline,
        (s == 0 ? "" : "then, among equals, ") + describe(preference, step) + (last ? describe_levels(plan.query) : ""),
        rows));
    plan.operators.skyline.back().step = s;
    if (s == 0) plan.operators.skyline.back().statistics = described(plan.sample.preference, rows);
  }
}

void plan_order(PhysicalPlan& plan, double& rows) {
  const query::BoundQuery& query = plan.query;
  if (!query.ranking.empty()) {
    plan.operators.rank_keys = make_operator(OperatorKind::rank_keys, describe_ranking(query.ranking), rows);
    std::vector<const query::BoundExpression*> expressions;
    double bytes = 0;
    for (const query::BoundRankTerm& term : query.ranking) {
      expressions.push_back(&term.expression);
      bytes += static_cast<double>(width_of(term.expression));
    }
    const bool listed = is_listed(plan) || plan.preference;
    predict(*plan.operators.rank_keys, keys_cost(expressions, bytes, rows, listed, plan.machine.threads));
  }
  const Window window = window_of(query);
  if (query.ranking.empty() && window.is_all()) return;
  const double rest = std::max(rows - plan.segments * static_cast<double>(window.offset), 0.0);
  const double most = window.limit ? plan.segments * static_cast<double>(*window.limit) : rest;
  rows = std::min(rest, most);
  const OperatorKind op = query.ranking.empty() ? OperatorKind::limit
                          : query.limit         ? OperatorKind::top_k
                                                : OperatorKind::sort;
  const std::string what = describe_ranking(query.ranking);
  const std::string part = describe_window(query);
  plan.operators.order = make_operator(op, what + (what.empty() || part.empty() ? "" : "; ") + part, rows);
  if (query.ranking.empty()) plan.operators.order->estimate.bytes = rows * sizeof(std::int64_t);
  plan.operators.order->statistics = described(plan.sample.ranking);
}

void plan_gather(PhysicalPlan& plan, double rows) {
  const std::vector<query::BoundOutput>& outputs = plan.query.outputs;
  const std::string names = join(outputs, [](const query::BoundOutput& output) { return output.name; });
  plan.operators.gather = make_operator(OperatorKind::gather, names, rows);
  predict(plan.operators.gather, gather_cost(outputs, rows));
}

}  // namespace

Operator make_operator(OperatorKind kind, std::string detail, double rows) {
  return {.kind = kind, .detail = std::move(detail), .estimate = {.rows = rows}};
}

void predict(Operator& op, const OperatorCost& cost) {
  op.estimate.ms = cost.seconds * 1e3;
  op.estimate.bytes = cost.bytes;
}

void lay_out_operators(PhysicalPlan& plan, const Table& table) {
  auto rows = static_cast<double>(table.num_rows());
  plan.operators.scan = make_operator(OperatorKind::scan, describe_scan(plan.query, table), rows);
  plan.numbering = plan.sample.far_apart ? Numbering::by_hashing : Numbering::by_values;
  plan_filter(plan, table, rows);
  plan_group(plan, table, rows);
  plan_missing(plan, rows);
  plan_partition(plan, table, rows);
  plan_skyline(plan, rows);
  plan_order(plan, rows);
  plan_gather(plan, rows);
}

}  // namespace skyrank::exec
