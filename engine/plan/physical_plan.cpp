#include "engine/plan/physical_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "engine/device/resident.hpp"
#include "engine/keys/fused_keys.hpp"
#include "engine/operators/rank.hpp"
#include "engine/operators/skyline/level_strategy.hpp"
#include "engine/operators/skyline/levels_at_once.hpp"
#include "engine/operators/skyline/monotone.hpp"
#include "engine/operators/skyline/skyline.hpp"
#include "engine/operators/skyline/skyline_prefix.hpp"
#include "engine/plan/estimate.hpp"
#include "engine/plan/operator_cost.hpp"
#include "engine/runtime/column_cache.hpp"
#include "planner/cost/cuda_partitions.hpp"
#include "planner/estimate.hpp"

namespace skyrank::exec {
namespace {

using kernels::KeyWidth;

PlanNode make_node(std::string op, std::string detail, double rows) {
  PlanNode node;
  node.op = std::move(op);
  node.detail = std::move(detail);
  node.predicted_rows = rows;
  return node;
}

void predict(std::optional<PlanNode>& node, const OperatorCost& cost) {
  node->predicted_ms = cost.seconds * 1e3;
  node->predicted_bytes = cost.bytes;
}

template <class List, class Name>
std::string join(const List& list, const Name& name) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ", ") + name(item);
  return text;
}

std::string describe_scan(const query::BoundQuery& query, const Table& table, const std::string& name) {
  const std::vector<int> read = query::columns_read(query);
  if (read.empty()) return name;
  return name + ": " + join(read, [&](int column) { return table.column(column).name(); });
}

std::string_view word(Aggregate::Function function) {
  switch (function) {
    case Aggregate::Function::count: return "count";
    case Aggregate::Function::sum: return "sum";
    case Aggregate::Function::min: return "min";
    case Aggregate::Function::max: return "max";
    case Aggregate::Function::avg: break;
  }
  return "avg";
}

std::string describe_aggregate(const query::BoundAggregate& aggregate) {
  return aggregate.name + ": " + std::string(word(aggregate.function)) + "(" +
         (aggregate.argument ? aggregate.argument->text : "") + ")";
}

std::string describe_group(const query::BoundGroup& group, const Table& table) {
  const std::string columns = join(group.columns, [&](int column) { return table.column(column).name(); });
  const std::string aggregates = join(group.aggregates, describe_aggregate);
  return aggregates.empty() ? columns : columns + "; " + aggregates;
}

std::string describe_missing(const query::BoundQuery& query) {
  const auto rule = [](std::string_view name, Missing missing) {
    if (missing == Missing::worst) return std::string();
    return std::string(name) + (missing == Missing::exclude ? ": exclude" : ": error");
  };
  const std::string nan = rule("nan", query.nan_rule);
  const std::string nulls = rule("nulls", query.null_rule);
  return nan + (nan.empty() || nulls.empty() ? "" : ", ") + nulls;
}

std::string describe_levels(const query::BoundQuery& query) {
  std::string text;
  if (query.levels) text += "; levels: " + std::to_string(*query.levels);
  if (query.at_least) text += "; at_least: " + std::to_string(*query.at_least);
  if (query.distinct) text += "; distinct";
  return text;
}

std::string describe_ranking(const std::vector<query::BoundRankTerm>& ranking) {
  return join(ranking, [](const query::BoundRankTerm& t) { return (t.high ? "high " : "low ") + t.expression.text; });
}

std::string describe_window(const query::BoundQuery& query) {
  std::string text;
  if (query.offset != 0) text += "offset: " + std::to_string(query.offset);
  if (query.limit) text += (text.empty() ? "" : ", ") + ("limit: " + std::to_string(*query.limit));
  if (!query.limit || query.ranking.empty()) return text;
  switch (query.ties) {
    case Ties::first: return text;
    case Ties::last: return text + ", ties: last";
    case Ties::all: return text + ", ties: all";
    case Ties::any: break;
  }
  return text + ", ties: any";
}

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

/// A fraction of a row is no row to plan for, but no rows are none.
double at_least_one(double rows, double input) { return std::min(std::max(rows, 1.0), input); }

void plan_input(PhysicalPlan& plan, const Table& table, double& rows) {
  const query::BoundQuery& query = plan.query;
  if (query.condition) {
    const double share = plan.sample.selectivity.value_or(guess_selectivity(*query.condition->root));
    rows = at_least_one(rows * share, rows);
    plan.operators.filter = make_node("filter", query.condition->text, rows);
    predict(plan.operators.filter,
            filter_cost(*query.condition, static_cast<double>(table.num_rows()), rows, plan.machine.threads));
    if (plan.sample.selectivity) {
      plan.operators.filter->statistics = {{"sample", static_cast<double>(plan.sample.rows)}, {"selectivity", share}};
    }
  }
  if (query.group) {
    std::vector<DataType> types;
    for (const int column : query.group->columns) types.push_back(table.column(column).type());
    const double input = rows;
    rows = std::min(rows, plan.sample.groups.value_or(guess_groups(rows, types)));
    plan.operators.group = make_node("group", describe_group(*query.group, table), rows);
    predict(plan.operators.group, group_cost(*query.group, input, rows));
    if (plan.sample.groups) {
      plan.operators.group->statistics = {{"sample", static_cast<double>(plan.sample.rows)},
                                          {"groups", *plan.sample.groups}};
    }
  }
  if (query.nan_rule != Missing::worst || query.null_rule != Missing::worst) {
    plan.operators.missing = make_node("missing", describe_missing(query), rows);
    predict(plan.operators.missing, missing_cost(value_expressions(plan), rows, plan.machine.threads));
  }
  if (!query.partition_columns.empty()) {
    std::vector<query::Schema::Field> fields;
    for (const int column : query.partition_columns) fields.push_back(field_of(query, table, column));
    std::vector<DataType> types;
    for (const auto& field : fields) types.push_back(field.type);
    const bool looked_at = plan.sample.groups && !query.group;
    plan.segments = looked_at ? std::min(rows, *plan.sample.groups) : guess_groups(rows, types);
    plan.operators.partition = make_node("partition", join(fields, [](const auto& field) { return field.name; }), rows);
    predict(plan.operators.partition, partition_cost(fields.size(), rows, plan.segments));
    if (looked_at) {
      plan.operators.partition->statistics = {{"sample", static_cast<double>(plan.sample.rows)},
                                              {"partitions", plan.segments}};
    }
  }
}

/// Rows of one partition, all taken to be equally large.
std::int64_t segment_rows(const PhysicalPlan& plan, double rows) {
  return static_cast<std::int64_t>(at_least_one(rows / std::max(plan.segments, 1.0), rows));
}

using Described = std::vector<std::pair<std::string, double>>;

Described described(const planner::Statistics& preference, double rows) {
  if (preference.sample == 0) return {};
  return {{"sample", static_cast<double>(preference.sample)},
          {"effective dimensions", preference.growth.dims},
          {"growth exponent", preference.growth.exponent(std::max(rows, 2.0))},
          {"left by a prefilter", preference.survivors},
          {"rank correlation", preference.correlation}};
}

Described described(const planner::Statistics& ranking) {
  if (ranking.sample == 0) return {};
  return {{"sample", static_cast<double>(ranking.sample)},
          {"distinct", ranking.distinct},
          {"in order", ranking.order},
          {"tied with the last", ranking.ties},
          {"NULL or NaN", ranking.worst}};
}

KeyWidth width_of(const query::BoundExpression& expression) {
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

/// Returns true if the operators after the input do not see all rows of a table.
bool is_listed(const PhysicalPlan& plan) {
  return (plan.operators.filter && !plan.operators.group) || plan.operators.missing.has_value();
}

void plan_preference_operators(PhysicalPlan& plan, double& rows) {
  if (!plan.preference) return;
  const PreferencePlan& preference = *plan.preference;
  std::string all;
  for (const SkylineStep& step : preference.steps) all += (all.empty() ? "" : "; then ") + describe(preference, step);
  plan.operators.skyline_keys = make_node("keys", all, rows);
  std::vector<const query::BoundExpression*> expressions;
  for (const query::BoundPreference& term : preference.terms) expressions.push_back(&term.expression);
  double bytes = 0;
  for (const SkylineStep& step : preference.steps) {
    bytes += static_cast<double>(step.keys.size()) * static_cast<double>(width_of(preference, step));
  }
  predict(plan.operators.skyline_keys, keys_cost(expressions, bytes, rows, is_listed(plan), plan.machine.threads));
  for (std::size_t s = 0; s < preference.steps.size(); ++s) {
    const SkylineStep& step = preference.steps[s];
    if (s == 0) {  // later steps only decide between equal rows, of which nothing is known
      const double levels = static_cast<double>(plan.query.levels.value_or(1));
      const kernels::SkylineShape shape = shape_of(step, KeyWidth::bytes4, segment_rows(plan, rows));
      const double segment = planner::skyline_rows(shape, plan.sample.preference);
      const double kept =
          std::max(levels * segment * plan.segments, static_cast<double>(plan.query.at_least.value_or(0)));
      rows = std::min(rows, kept);
    }
    const bool last = s + 1 == preference.steps.size();
    plan.operators.skyline.push_back(make_node(
        "skyline",
        (s == 0 ? "" : "then, among equals, ") + describe(preference, step) + (last ? describe_levels(plan.query) : ""),
        rows));
    if (s == 0) plan.operators.skyline.back().statistics = described(plan.sample.preference, rows);
  }
}

void plan_order(PhysicalPlan& plan, double& rows) {
  const query::BoundQuery& query = plan.query;
  if (!query.ranking.empty()) {
    plan.operators.rank_keys = make_node("keys", describe_ranking(query.ranking), rows);
    std::vector<const query::BoundExpression*> expressions;
    double bytes = 0;
    for (const query::BoundRankTerm& term : query.ranking) {
      expressions.push_back(&term.expression);
      bytes += static_cast<double>(width_of(term.expression));
    }
    const bool listed = is_listed(plan) || plan.preference;
    predict(plan.operators.rank_keys, keys_cost(expressions, bytes, rows, listed, plan.machine.threads));
  }
  const Window window = window_of(query);
  if (query.ranking.empty() && window.is_all()) return;
  const double rest = std::max(rows - plan.segments * static_cast<double>(window.offset), 0.0);
  const double most = window.limit ? plan.segments * static_cast<double>(*window.limit) : rest;
  rows = std::min(rest, most);
  const std::string op = query.ranking.empty() ? "limit" : query.limit ? "top-k" : "sort";
  const std::string what = describe_ranking(query.ranking);
  const std::string part = describe_window(query);
  plan.operators.order = make_node(op, what + (what.empty() || part.empty() ? "" : "; ") + part, rows);
  if (query.ranking.empty()) plan.operators.order->predicted_bytes = rows * sizeof(std::int64_t);
  plan.operators.order->statistics = described(plan.sample.ranking);
}

/// The machine with what a limit on memory leaves beside the lists of rows and the keys that a kernel reads.
planner::Machine machine_beside(const PhysicalPlan& plan, const std::optional<PlanNode>& keys) {
  planner::Machine machine = plan.machine;
  if (!machine.host_limited) return machine;
  const Operators& operators = plan.operators;
  for (const auto* node : {&operators.filter, &operators.group, &operators.missing, &operators.partition, &keys}) {
    if (*node) machine.host_bytes = std::max(machine.host_bytes - (*node)->predicted_bytes, 0.0);
  }
  return machine;
}

/// The path of the ranking for the estimated number of rows.
planner::Choice<kernels::TopKAlgorithm> rank_path(const PhysicalPlan& plan) {
  std::vector<KeyWidth> widths;
  for (const query::BoundRankTerm& term : plan.query.ranking) widths.push_back(width_of(term.expression));
  const std::int64_t n = segment_rows(plan, plan.operators.rank_keys->predicted_rows);
  const ExecutionContext context{
      plan.constraints, machine_beside(plan, plan.operators.rank_keys), {}, {}, plan.sample.ranking};
  return Ranker(window_of(plan.query), context, n).path(packed_widths(widths, packs_ranking(plan)), n);
}

/// The path of a step of the preference for an estimated number of rows.
planner::Choice<kernels::SkylineAlgorithm> step_path(const PhysicalPlan& plan, std::size_t s, double rows,
                                                     const planner::Statistics& statistics) {
  const SkylineStep& step = plan.preference->steps[s];
  const auto shape = shape_of(step, width_of(*plan.preference, step), segment_rows(plan, rows));
  return planner::choose(shape, plan.constraints, machine_beside(plan, plan.operators.skyline_keys), statistics);
}

/// Chooses the path of a step of the preference. Nothing is known of rows that are equal in the steps before.
planner::Choice<kernels::SkylineAlgorithm> step_path(const PhysicalPlan& plan, std::size_t s, double rows) {
  return step_path(plan, s, rows,
                   s > 0                 ? planner::Statistics{}
                   : plan.skyline_prefix ? skyline_of_prefix(plan)
                                         : plan.sample.preference);
}

/// Returns true if all kernels of the query would run on the GPU.
bool would_run_there(const PhysicalPlan& plan) {
  try {
    if (plan.operators.rank_keys && rank_path(plan).algorithm->device != kernels::Device::cuda) return false;
    double rows = plan.operators.skyline_keys ? plan.operators.skyline_keys->predicted_rows : 0;
    for (std::size_t s = 0; s < plan.operators.skyline.size(); ++s) {
      if (step_path(plan, s, rows).algorithm->device != kernels::Device::cuda) return false;
      rows = plan.operators.skyline[s].predicted_rows;
    }
    return plan.operators.rank_keys || plan.operators.skyline_keys;
  } catch (const planner::NoPath&) {
    return false;  // told where the paths are chosen
  }
}

/// At most so many partitions have a row to compare with another: each such row is one more than there are partitions.
double paths_taken(const PhysicalPlan& plan, double rows) {
  return std::min(plan.segments, std::max(rows - plan.segments, 1.0));
}

/// Has paths priced with keys that are made on the device of columns, of which some have to go there first: for the
/// operator that reads them first. Queries that share them pay a part each.
void price_on_device(PhysicalPlan& plan, const Table& table) {
  TableSample& sample = plan.sample;
  sample.preference.memory = sample.ranking.memory = kernels::Memory::device;
  const double unsent = residency_of(columns_of_keys(plan.query), table, plan.sharers > 0).unsent;
  (plan.preference ? sample.preference : sample.ranking).unsent = unsent / std::max(1, plan.sharers);
}

/// Filters and keys are of the device where all kernels have to run there, or would do so and read a table that is
/// pinned or whose columns stay there for later queries.
bool keys_of_device(PhysicalPlan& plan, const Table& table) {
  if (!plan.machine.cuda || !plan.rules.rules().has(Rule::device_keys)) return false;
  if (plan.constraints.device == kernels::Device::cuda) {
    price_on_device(plan, table);
    plan.rules.applied(Rule::device_keys, "all kernels have to run there");
    return true;
  }
  const std::vector<int> read = columns_of_keys(plan.query);
  const bool pinned =
      std::ranges::any_of(read, [&](int column) { return pinned_of(table.column(column).data()) != nullptr; });
  const bool stays = pinned || plan.sharers > 0;
  const TableSample on_host = plan.sample;
  if (stays) price_on_device(plan, table);
  const bool there = stays && would_run_there(plan);
  if (!there) plan.sample = on_host;
  if (there) {
    plan.rules.applied(Rule::device_keys, pinned ? "the table is pinned, and all kernels would run there"
                                                 : "the columns are shared, and all kernels would run there");
  } else {
    plan.rules.left_out(Rule::device_keys, stays ? "not all kernels would run there" : "the table is not pinned");
  }
  return there;
}

std::vector<const query::BoundExpression*> preference_expressions(const PhysicalPlan& plan) {
  std::vector<const query::BoundExpression*> expressions;
  for (const query::BoundPreference& term : plan.preference->terms) expressions.push_back(&term.expression);
  return expressions;
}

/// Returns the cost of a filter that runs before all other operators, if keys are made.
OperatorCost first_filter_cost(const PhysicalPlan& plan, const Table& table) {
  const query::BoundExpression& condition = *plan.query.condition;
  const auto all = static_cast<double>(table.num_rows());
  const double passing = plan.operators.filter->predicted_rows;
  if (!plan.on_device) return filter_cost(condition, all, passing, plan.machine.threads);
  return device_filter_cost(condition, residency_of(columns_of({&condition}), table).row_bytes, all, passing);
}

/// Returns the cost of the preference's keys, for all rows of the table or those that pass its condition.
OperatorCost skyline_keys_cost(const PhysicalPlan& plan, const Table& table, double rows, bool listed) {
  const PlanNode& node = *plan.operators.skyline_keys;
  const double bytes = node.predicted_bytes / std::max(node.predicted_rows, 1.0);
  const auto expressions = preference_expressions(plan);
  if (!plan.on_device) return keys_cost(expressions, bytes, rows, listed, plan.machine.threads);
  const double share = listed ? rows / std::max<double>(static_cast<double>(table.num_rows()), 1) : 1;
  return device_keys_cost(expressions, residency_of(columns_of(expressions), table).row_bytes, bytes, rows, share);
}

/// The operators that make what kernels on the device read, at prices of the device.
void place_on_device(PhysicalPlan& plan, const Table& table) {
  Operators& operators = plan.operators;
  const auto place = [](std::optional<PlanNode>& node, const OperatorCost& cost) {
    node->device = "cuda";
    predict(node, cost);
  };
  if (operators.filter) place(operators.filter, first_filter_cost(plan, table));
  if (operators.skyline_keys && !plan.query.group) {
    place(operators.skyline_keys,
          skyline_keys_cost(plan, table, operators.skyline_keys->predicted_rows, is_listed(plan)));
  }
  for (std::optional<PlanNode>* node : {&operators.skyline_keys, &operators.rank_keys}) {
    if (*node) (*node)->device = "cuda";
  }
}

/// Notes in the plan how columns on the device are shared.
void note_sharing(PhysicalPlan& plan) {
  if (!plan.machine.cuda) return;
  if (plan.sharers == 0) return plan.rules.left_out(Rule::device_columns, "the engine was told to keep none");
  if (!plan.on_device) return plan.rules.left_out(Rule::device_columns, "keys are not made on the GPU");
  plan.rules.applied(Rule::device_columns, "the columns stay on the GPU; their way there is priced as shared by " +
                                               std::to_string(plan.sharers) + " queries");
}

/// Returns true if the ranking should take in the filter and the making of keys: it would take an algorithm that can,
/// or one that can is cheaper than another one and the making of keys.
bool better_fused(const PhysicalPlan& plan, const kernels::TopKShape& shape) {
  constexpr double kMaterialise = 2e-9;  // seconds for the key of a row and, with a filter, its id in memory
  const auto apart = rank_path(plan);
  if (apart.algorithm->supports(shape)) return true;
  try {
    const double saved = kMaterialise * static_cast<double>(shape.n) / plan.machine.threads;
    return planner::choose(shape, plan.constraints, plan.machine, plan.sample.ranking).seconds < apart.seconds + saved;
  } catch (const planner::NoPath&) {
    return false;
  }
}

void note_use(RuleLog& rules, const FusedUse& use) {
  const auto note = [&](Rule rule, const FusedUse::Entry& entry) {
    if (entry.used) return rules.applied(rule, entry.reason);
    rules.left_out(rule, entry.reason);
  };
  note(Rule::late_filter, use.late_filter);
  note(Rule::zone_maps, use.zone_maps);
  note(Rule::weighted_sum, use.weighted_sum);
  note(Rule::raw_floats, use.raw_floats);
}

/// Lets the ranking do what the operators before it would.
void fuse(PhysicalPlan& plan, const Table& table) {
  if (plan.query.ranking.empty() || !plan.rules.rules().has(Rule::fusion)) return;
  if (!FusedKeys::fits(plan.query, table)) {
    return plan.rules.left_out(Rule::fusion,
                               "the query is more than a condition and the best rows of one ranking term");
  }
  const query::BoundRankTerm& term = plan.query.ranking.front();
  if (term.expression.column >= 0 && plan.rules.rules().has(Rule::zone_maps)) {
    const ColumnData& column = table.column(term.expression.column).data();
    plan.sample.ranking.zone_map = cache_of(column)->zone_map(term.high) != nullptr;
  }
  const kernels::TopKShape shape = fused_shape(plan.query, table);
  if (!better_fused(plan, shape)) return plan.rules.left_out(Rule::fusion, "making the keys first is cheaper");
  plan.fused = shape;
  plan.rules.applied(Rule::fusion, "cheaper than making the keys first");
  note_use(plan.rules, FusedKeys(plan.query, table, fused_options(plan)).use_of(shape.k));
  Operators& operators = plan.operators;
  operators.order->detail +=
      operators.filter ? "; fused with its keys and the filter " + operators.filter->detail : "; fused with its keys";
  operators.filter.reset();
  operators.rank_keys.reset();
}

/// Lets a selection by the ranking go before the skyline, where the first of the skyline are all that is asked for.
void plan_skyline_prefix(PhysicalPlan& plan, const Table& table) {
  if (!plan.preference || plan.query.ranking.empty() || !plan.rules.rules().has(Rule::skyline_top_k)) return;
  const auto leave_out = [&](const char* why) { plan.rules.left_out(Rule::skyline_top_k, why); };
  if (plan.on_device) return leave_out("keys are made on the GPU");
  if (const auto why = why_no_skyline_prefix(plan.query, plan.preference, table)) return leave_out(why->c_str());
  Operators& operators = plan.operators;
  const double rows = operators.skyline_keys->predicted_rows;
  const auto k = static_cast<double>(plan.query.offset) + static_cast<double>(*plan.query.limit);
  if (operators.skyline.back().predicted_rows < 2 * k) return leave_out("the skyline is expected to be too small");
  const std::int64_t count = prefix_rows_for(static_cast<std::int64_t>(k));
  if (4 * static_cast<double>(count) > rows) return leave_out("there are too few rows for so long an answer");
  const kernels::TopKShape shape = skyline_prefix_shape(plan.query, table, count);
  try {
    const auto selection = planner::choose(shape, plan.constraints, plan.machine, skyline_prefix_statistics(plan));
    const double whole = step_path(plan, 0, rows).seconds * 1e3 + operators.skyline_keys->predicted_ms +
                         (operators.filter ? operators.filter->predicted_ms : 0);
    plan.skyline_prefix = shape;
    // It may be in vain, so it has to be a good deal cheaper.
    const double with = (selection.seconds + step_path(plan, 0, static_cast<double>(count)).seconds) * 1e3;
    if (2 * with > whole) {
      plan.skyline_prefix.reset();
      return leave_out("the whole skyline is not much dearer");
    }
    operators.skyline_prefix =
        make_node("top-k",
                  describe_ranking({plan.query.ranking.front()}) + "; the best " + std::to_string(count) +
                      " and their equals contend" +
                      (operators.filter ? "; fused with the filter " + operators.filter->detail : ""),
                  static_cast<double>(count));
    describe_path(selection, *operators.skyline_prefix);
  } catch (const planner::NoPath&) {
    plan.skyline_prefix.reset();
    return leave_out("no algorithm that may be used selects rows by a fused ranking");
  }
  const double share = static_cast<double>(count) / rows;
  operators.skyline_keys->predicted_rows = static_cast<double>(count);
  operators.skyline_keys->predicted_ms *= share;
  operators.skyline_keys->predicted_bytes *= share;
  for (PlanNode& step : operators.skyline)
    step.predicted_rows = std::min(step.predicted_rows, static_cast<double>(count));
  operators.rank_keys->predicted_rows = std::min(operators.rank_keys->predicted_rows, static_cast<double>(count));
  plan.rules.applied(Rule::skyline_top_k, "the ranking never puts a row before one that dominates it");
}

/// Why the skyline of the rows that pass the condition may not be the skyline of all rows, of which those that pass
/// are taken; nothing where it is.
const char* why_filter_first(const PhysicalPlan& plan) {
  const query::BoundQuery& query = plan.query;
  if (query.group || !query.partition_columns.empty() || query.levels || query.at_least || plan.operators.missing) {
    return "the query is more than a condition and a skyline";
  }
  if (!plan.preference->steps.front().order.empty() || !Monotone(*plan.preference).keeps_preferred(*query.condition)) {
    return "the condition may drop a row that beats one that it keeps";
  }
  const auto fails = [](const query::BoundExpression& expression) { return !never_fails(*expression.root); };
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
  double skyline_rows = 0;
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
  last.skyline_rows = planner::skyline_rows(
      shape_of(step, width_of(*plan.preference, step), static_cast<std::int64_t>(all)), last.statistics);
  if (plan.rows_on_device) {
    const double bytes = residency_of(columns_of({&condition}), table).row_bytes;
    last.filter = device_filter_cost(condition, bytes, last.skyline_rows, last.skyline_rows);
  } else {
    last.filter = filter_cost(condition, last.skyline_rows, last.skyline_rows, 1);
    if (plan.on_device) {
      const auto read = columns_of(preference_expressions(plan));
      last.statistics.unsent =
          residency_of(read, table, plan.sharers > 0).unsent / static_cast<double>(std::max(1, plan.sharers));
    }
  }
  return last;
}

/// Lets the filter come after the skyline where that is as right and cheaper: keys of all rows are made faster than
/// those of rows here and there, and on the device no list of rows is made before.
void put_filter_last(PhysicalPlan& plan, const Table& table) {
  Operators& operators = plan.operators;
  if (!plan.preference || !operators.filter || !plan.rules.rules().has(Rule::filter_last)) return;
  if (plan.skyline_prefix) return plan.rules.left_out(Rule::filter_last, "it is fused");
  if (const char* const why = why_filter_first(plan)) return plan.rules.left_out(Rule::filter_last, why);
  const auto all = static_cast<double>(table.num_rows());
  const double passing = operators.skyline_keys->predicted_rows;
  const FilterLast last = price_filter_last(plan, table);
  try {
    const double first = first_filter_cost(plan, table).seconds +
                         skyline_keys_cost(plan, table, passing, true).seconds + step_path(plan, 0, passing).seconds;
    const double with = last.keys.seconds + step_path(plan, 0, all, last.statistics).seconds + last.filter.seconds;
    if (with > first) return plan.rules.left_out(Rule::filter_last, "a skyline of all rows is dearer");
  } catch (const planner::NoPath&) {
    return;  // told where the paths are chosen
  }
  operators.filter_last = true;
  plan.sample.preference = last.statistics;
  predict(operators.skyline_keys, last.keys);
  operators.skyline_keys->predicted_rows = all;
  predict(operators.filter, last.filter);
  operators.filter->predicted_rows = operators.skyline.back().predicted_rows;
  if (!plan.rows_on_device) operators.filter->device.clear();
  for (PlanNode& step : operators.skyline) step.predicted_rows = std::max(step.predicted_rows, last.skyline_rows);
  plan.rules.applied(Rule::filter_last, "the condition keeps all that beats what it keeps, and few rows are dropped");
}

/// Lets the skyline's rows stay on the device: for its further levels, or where only some of them are the answer.
void keep_rows_on_device(PhysicalPlan& plan) {
  if (!plan.preference || !plan.on_device || !plan.rules.rules().has(Rule::device_rows)) return;
  const auto leave_out = [&](const char* why) { plan.rules.left_out(Rule::device_rows, why); };
  const query::BoundQuery& query = plan.query;
  const bool more_levels = query.levels.value_or(1) > 1 || query.at_least.has_value();
  if (!query.limit && !more_levels) return leave_out("all rows of the skyline are the answer");
  if (plan.preference->steps.size() > 1) return leave_out("the preference has several steps");
  if (query.distinct) return leave_out("equal rows are dropped by the host");
  // Rows of several segments are not ascending there, and the first that fails would not be the one to name.
  const auto fails = [](const query::BoundRankTerm& term) { return !never_fails(*term.expression.root); };
  if (!query.partition_columns.empty() && std::ranges::any_of(query.ranking, fails)) {
    return leave_out("the ranking may fail on a row, which the host names");
  }
  plan.rows_on_device = true;
  plan.rules.applied(Rule::device_rows, "only the rows of the answer come to the host");
}

void look_at_sample(PhysicalPlan& plan, const Table& table) {
  if (!plan.rules.rules().has(Rule::statistics)) return;
  plan.sample = sample_table(plan.query, plan.preference, table, plan.machine);
  if (plan.sample.rows > 0) {
    plan.rules.applied(Rule::statistics,
                       std::to_string(plan.sample.rows) + " of " + std::to_string(table.num_rows()) + " rows");
  } else {
    plan.rules.left_out(Rule::statistics, "the query is too short for a look at a sample to pay");
  }
}

void note_packing(PhysicalPlan& plan) {
  const std::size_t terms = plan.query.ranking.size();
  if (terms < 2) return;
  std::vector<KeyWidth> widths;
  for (const query::BoundRankTerm& term : plan.query.ranking) widths.push_back(width_of(term.expression));
  const std::size_t keys = packed_widths(widths, packs_ranking(plan)).size();
  if (keys < terms) {
    plan.rules.applied(Rule::packed_ranking, std::to_string(keys) + " for " + std::to_string(terms) + " terms");
  } else {
    plan.rules.left_out(Rule::packed_ranking, "no two neighbouring terms fit into 64 bits");
  }
}

}  // namespace

PhysicalPlan make_plan(query::BoundQuery query, const Table& table, const std::string& table_name,
                       const planner::Constraints& constraints, const planner::Machine& machine, const Rules& rules,
                       int sharers) {
  PhysicalPlan plan{std::move(query), std::nullopt, constraints, machine, {}, 1, false, std::nullopt};
  plan.rules = RuleLog(rules);
  if (rules.has(Rule::device_columns) && machine.cuda) plan.sharers = sharers;
  if (plan.query.preference) plan.preference = plan_preference(*plan.query.preference);
  look_at_sample(plan, table);
  auto rows = static_cast<double>(table.num_rows());
  plan.operators.scan = make_node("scan", describe_scan(plan.query, table, table_name), rows);
  plan_input(plan, table, rows);
  plan_preference_operators(plan, rows);
  plan_order(plan, rows);
  plan.on_device = keys_of_device(plan, table);
  note_sharing(plan);
  if (plan.on_device) {
    place_on_device(plan, table);
  } else {
    fuse(plan, table);
  }
  keep_rows_on_device(plan);
  plan_skyline_prefix(plan, table);
  put_filter_last(plan, table);
  note_packing(plan);
  plan.operators.gather =
      make_node("gather", join(plan.query.outputs, [](const query::BoundOutput& output) { return output.name; }), rows);
  const OperatorCost cost = gather_cost(plan.query.outputs, rows);
  plan.operators.gather.predicted_ms = cost.seconds * 1e3;
  plan.operators.gather.predicted_bytes = cost.bytes;
  return plan;
}

FusedOptions fused_options(const PhysicalPlan& plan) {
  const Rules& rules = plan.rules.rules();
  return {.late_filter = rules.has(Rule::late_filter),
          .zone_maps = rules.has(Rule::zone_maps),
          .weighted_sum = rules.has(Rule::weighted_sum),
          .raw_floats = rules.has(Rule::raw_floats)};
}

bool packs_ranking(const PhysicalPlan& plan) { return plan.rules.rules().has(Rule::packed_ranking); }

planner::Statistics skyline_of_prefix(const PhysicalPlan& plan) {
  const auto count = static_cast<double>(plan.skyline_prefix->k);
  planner::Statistics statistics;
  statistics.sample = plan.sample.preference.sample;
  statistics.growth = {
      .sample = count,
      .dims = planner::effective_dims(count, std::min(plan.operators.skyline.front().predicted_rows, count))};
  return statistics;
}

planner::Statistics skyline_prefix_statistics(const PhysicalPlan& plan) {
  planner::Statistics statistics;
  statistics.selectivity = plan.sample.selectivity.value_or(1);
  return statistics;
}

double paths_taken(const Segments& segments) {
  double count = 0;
  for (std::int64_t s = 0; s < segments.count(); ++s) count += segments.size(s) > 1 ? 1 : 0;
  return count;
}

void repeat(PlanNode& node, double times, int threads) {
  if (times <= 1) return;
  const double factor = times / std::min<double>(times, threads);
  node.predicted_ms *= factor;
  for (Alternative& other : node.alternatives) other.predicted_ms *= factor;
}

std::string describe_at_once(const PhysicalPlan& plan, std::int64_t from) {
  const std::size_t keys = plan.preference->steps.front().keys.size();
  return "from level " + std::to_string(from) + " on all levels at once by " +
         std::string(kernels::levels_algorithm(keys)) + " on cpu";
}

void price_levels(PlanNode& node, const PhysicalPlan& plan, double rows, double level_rows) {
  constexpr int kMaxLevels = 10'000;  // one by one are no more
  const auto wanted_levels = static_cast<double>(plan.query.levels.value_or(1));
  if (wanted_levels <= 1 && !plan.query.at_least) return;
  const double first_ms = node.predicted_ms;
  const double level = std::max(level_rows, 1.0);
  LevelStrategy strategy(static_cast<double>(plan.preference->steps.front().keys.size()), plan.machine.threads, 0);
  double left = rows;
  for (int levels = 1; levels < kMaxLevels; ++levels) {
    strategy.took_level(left, level, first_ms / 1e3);
    left -= level;
    std::optional<double> wanted_rows;
    if (plan.query.at_least) wanted_rows = static_cast<double>(*plan.query.at_least) - levels * level;
    if (left < 1 || (wanted_rows ? *wanted_rows <= 0 : levels >= wanted_levels)) return;
    const double wanted = wanted_levels - levels;
    if (can_level_at_once(*plan.preference) && strategy.prefers_at_once(left, wanted, wanted_rows)) {
      node.predicted_ms += strategy.at_once_seconds(left, wanted, wanted_rows) * 1e3;
      node.reason += "; expected " + describe_at_once(plan, levels + 1);
      return;
    }
    node.predicted_ms += first_ms;
  }
}

void price_at_once(PlanNode& node, double count, double rows, double k, double key_bytes) {
  const auto cost = planner::cost::cuda_partitions({.partitions = count, .rows = rows, .k = k, .key_bytes = key_bytes});
  node.predicted_ms = planner::seconds_of(cost) * 1e3;
  node.predicted_bytes = cost.bytes;
  node.reason = "all partitions in one launch, a block for each";
  node.alternatives.clear();  // of one partition
}

namespace {

/// Chooses the path of the ranking, or prices that of all partitions at once.
void choose_rank_path(PhysicalPlan& plan) {
  PlanNode& order = *plan.operators.order;
  const double rows = plan.operators.rank_keys->predicted_rows;
  const auto path = rank_path(plan);
  describe_path(path, order);
  std::vector<KeyWidth> widths;
  for (const query::BoundRankTerm& term : plan.query.ranking) widths.push_back(width_of(term.expression));
  widths = packed_widths(widths, packs_ranking(plan));
  const Window window = window_of(plan.query);
  const std::int64_t largest = segment_rows(plan, rows);
  const bool there = plan.on_device && path.algorithm->device == kernels::Device::cuda && widths.size() == 1;
  if (there && ranks_at_once(window, std::llround(plan.segments), largest)) {
    return price_at_once(order, plan.segments, rows, static_cast<double>(window.end(largest)),
                         static_cast<double>(widths.front()));
  }
  repeat(order, paths_taken(plan, rows), plan.machine.threads);
}

}  // namespace

void choose_paths(PhysicalPlan& plan) {
  if (plan.fused) {
    return describe_path(planner::choose(*plan.fused, plan.constraints, plan.machine, plan.sample.ranking),
                         *plan.operators.order);
  }
  double rows = plan.operators.skyline_keys ? plan.operators.skyline_keys->predicted_rows : 0;
  for (std::size_t s = 0; s < plan.operators.skyline.size(); ++s) {
    describe_path(step_path(plan, s, rows), plan.operators.skyline[s]);
    if (s == 0) {
      const auto n = static_cast<double>(segment_rows(plan, rows));
      const kernels::SkylineShape shape =
          shape_of(plan.preference->steps[0], KeyWidth::bytes4, static_cast<std::int64_t>(n));
      price_levels(plan.operators.skyline[s], plan, n, planner::skyline_rows(shape, plan.sample.preference));
    }
    repeat(plan.operators.skyline[s], paths_taken(plan, rows), plan.machine.threads);
    rows = plan.operators.skyline[s].predicted_rows;
  }
  if (!plan.operators.rank_keys) return;
  choose_rank_path(plan);
}

PlanNode tree(Operators operators, const RuleLog& rules) {
  PlanNode root = std::move(operators.scan);
  const auto add = [&](PlanNode node) {
    node.children.push_back(std::move(root));
    root = std::move(node);
  };
  const auto add_if = [&](std::optional<PlanNode>& node) {
    if (node) add(std::move(*node));
  };
  if (!operators.filter_last) add_if(operators.skyline_prefix ? operators.skyline_prefix : operators.filter);
  add_if(operators.group);
  add_if(operators.missing);
  add_if(operators.partition);
  add_if(operators.skyline_keys);
  for (PlanNode& step : operators.skyline) add(std::move(step));
  if (operators.filter_last) add_if(operators.filter);
  add_if(operators.rank_keys);
  add_if(operators.order);
  add(std::move(operators.gather));
  root.rules = rules.outcomes();
  return root;
}

std::vector<const query::BoundExpression*> value_expressions(const PhysicalPlan& plan) {
  std::vector<const query::BoundExpression*> expressions;
  if (plan.preference) {
    for (const query::BoundPreference& term : plan.preference->terms) {
      if (term.kind != Preference::Kind::where) expressions.push_back(&term.expression);
    }
  }
  for (const query::BoundRankTerm& term : plan.query.ranking) expressions.push_back(&term.expression);
  return expressions;
}

}  // namespace skyrank::exec
