#include "engine/operators/skyline/skyline_plan.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/device/resident.hpp"
#include "engine/operators/skyline/level_strategy.hpp"
#include "engine/operators/skyline/levels_at_once.hpp"
#include "engine/operators/skyline/skyline.hpp"
#include "kernels/cpu/dominance_counts/dominance_counts.hpp"
#include "planner/cost/levels.hpp"
#include "planner/facts/estimate.hpp"

namespace skyrank::exec {

using kernels::KeyWidth;

namespace {

std::string describe_levels(const query::BoundQuery& query) {
  std::string text;
  if (query.levels) text += "; levels: " + std::to_string(*query.levels);
  if (query.at_least) text += "; at_least: " + std::to_string(*query.at_least);
  if (query.distinct) text += "; distinct";
  return text;
}

std::vector<std::pair<std::string, double>> described_preference(const planner::Statistics& preference, double rows) {
  if (preference.sample == 0) return {};
  return {{"sample", static_cast<double>(preference.sample)},
          {"effective dimensions", preference.growth.dims},
          {"growth exponent", preference.growth.exponent(std::max(rows, 2.0))},
          {"left by a prefilter", preference.survivors},
          {"rank correlation", preference.correlation}};
}

planner::Choice<kernels::SkylineAlgorithm> skyline_path(const PhysicalPlan& plan, const kernels::SkylineShape& shape,
                                                        const planner::Statistics& statistics) {
  return planner::choose(shape, plan.constraints, machine_beside(plan, plan.operators.skyline_keys), statistics);
}

/// The expected Pareto levels below the first.
struct ExpectedLevels {
  double rows = 1;     ///< number of rows of each
  double seconds = 0;  ///< predicted time of the first of them
  const kernels::SkylineAlgorithm* algorithm = nullptr;
};

/// Returns what to expect below a first level of `first_rows` among `rows`, whose path takes `first_seconds`.
ExpectedLevels expected_levels(const PhysicalPlan& plan, double rows, double first_rows, double first_seconds) {
  const SkylineStep& step = plan.preference->steps.front();
  const auto shape = shape_of(step, width_of(*plan.preference, step), std::llround(rows));
  planner::Statistics statistics = plan.sample.preference;
  const double dims = statistics.sample > 0 ? statistics.growth.dims : static_cast<double>(shape.d);
  const double mean_rows = std::max(first_rows, planner::mean_level_rows(rows, dims));
  statistics.level_rows = planner::level_rows_below(shape, statistics, mean_rows);
  if (statistics.level_rows == 0) return {mean_rows, first_seconds, nullptr};
  const auto path = skyline_path(plan, shape, statistics);
  if (path.algorithm->device == kernels::Device::cuda) return {mean_rows, first_seconds, nullptr};
  return {mean_rows, path.seconds, path.algorithm};
}

/// Returns the rows that the first step of the preference leaves of so many. Of partitions, and of levels below the
/// first, a sample of all rows tells only the expectation.
planner::Cardinality rows_of_levels(const PhysicalPlan& plan, const planner::Cardinality& rows) {
  const auto first_level = [&](double of) {
    const kernels::SkylineShape shape =
        shape_of(plan.preference->steps.front(), KeyWidth::bytes4, segment_rows(plan, of));
    return planner::bounded_skyline_rows(shape, plan.sample.preference);
  };
  const planner::Cardinality level = first_level(rows.expected);
  const auto levels = static_cast<double>(plan.query.levels.value_or(1));
  const auto wanted = static_cast<double>(plan.query.at_least.value_or(0));
  const double expected = std::max(levels * level.expected * plan.segments.expected, wanted);
  const bool sampled = plan.sample.preference.sample > 0 && plan.segments.high <= 1;
  const bool alone = levels <= 1 && wanted == 0;
  const double least =
      sampled && !plan.query.distinct ? first_level(rows.low).low : std::min(plan.segments.low, rows.low);
  const double low = std::max(least, wanted);
  const double high = sampled && alone ? first_level(rows.high).high : rows.high;
  return min(planner::Cardinality::around(low, expected, high), rows);
}

std::string describe_skyband(const query::BoundQuery& query) {
  return query.skyband == kAllRows ? "all rows"
                                   : "rows that fewer than " + std::to_string(*query.skyband) + " dominate";
}

/// Returns the rows of the query's skyband among so many.
planner::Cardinality rows_of_skyband(const PhysicalPlan& plan, const planner::Cardinality& rows) {
  if (plan.query.skyband == kAllRows) {
    return plan.query.distinct ? planner::Cardinality{std::min(rows.low, 1.0), rows.expected, rows.high} : rows;
  }
  const kernels::SkylineShape shape =
      shape_of(plan.preference->steps.front(), KeyWidth::bytes4, segment_rows(plan, rows.expected));
  const double level = planner::skyline_rows(shape, plan.sample.preference);
  const double expected = static_cast<double>(*plan.query.skyband) * level * plan.segments.expected;
  return min(planner::Cardinality::around(std::min(plan.segments.low, rows.low), expected, rows.high), rows);
}

/// Returns the seconds that all levels of so many rows take at once.
double seconds_of_levels(const PhysicalPlan& plan, double rows) {
  if (rows < 1) return 0;
  const kernels::SkylineShape shape =
      shape_of(plan.preference->steps.front(), KeyWidth::bytes4, segment_rows(plan, rows));
  const double level = std::max(planner::skyline_rows(shape, plan.sample.preference), 1.0);
  const auto of_segment = static_cast<double>(shape.n);
  return std::max(plan.segments.expected, 1.0) *
         planner::levels_at_once_seconds({.rows = of_segment,
                                          .dims = static_cast<double>(shape.d),
                                          .levels = std::max(of_segment / level, 1.0),
                                          .level_rows = level},
                                         plan.machine.threads);
}

/// Returns the cost of finding the rows of the query's skyband, of which a sample leaves a few times as many to count.
OperatorCost host_skyband_cost(const PhysicalPlan& plan, double all, double kept) {
  constexpr double kLeft = 8;
  if (plan.query.skyband == kAllRows) return {unit_cost::kStart, 0};
  const kernels::DominanceCountsProblem problem{
      .n = static_cast<std::size_t>(segment_rows(plan, all)), .keys = {}, .enough = *plan.query.skyband};
  if (!kernels::dominance_counts::may_prefilter(problem)) return counting_cost(plan, all, kept, Counting::limited);
  OperatorCost cost = counting_cost(plan, std::min(all, kLeft * kept), kept, Counting::limited);
  cost.seconds += all * unit_cost::kCountJudged / std::max(plan.machine.threads, 1);
  return cost;
}

/// Returns the cost of finding them on the GPU.
OperatorCost device_skyband_cost(const PhysicalPlan& plan, double all, double kept) {
  return device_cost(plan, planner::cost::cuda_skyband(count_shape(plan, all, kept)));
}

/// Returns the seconds of the levels of a skyband's rows, where the query asks for them.
double seconds_of_skyband_levels(const PhysicalPlan& plan, double kept) {
  return plan.query.asks_for_levels() ? seconds_of_levels(plan, kept) : 0;
}

/// Lays out the skyband, which has no choice of algorithms.
planner::Cardinality lay_out_skyband(PhysicalPlan& plan, const planner::Cardinality& input) {
  const planner::Cardinality rows = rows_of_skyband(plan, input);
  Operator& op = plan.operators.skyline.emplace_back(
      make_operator(OperatorKind::skyband,
                    describe(*plan.preference, plan.preference->steps.front()) + "; " + describe_skyband(plan.query) +
                        (plan.query.distinct ? "; distinct" : ""),
                    rows));
  op.device = kernels::Device::cpu;
  op.statistics = described_preference(plan.sample.preference, rows.expected);
  predict(op, skyband_cost(plan, input.expected, rows.expected, kernels::Device::cpu));
  return rows;
}

}  // namespace

OperatorCost skyband_cost(const PhysicalPlan& plan, double all, double kept, kernels::Device device) {
  OperatorCost cost =
      device == kernels::Device::cuda ? device_skyband_cost(plan, all, kept) : host_skyband_cost(plan, all, kept);
  cost.seconds += seconds_of_skyband_levels(plan, kept);
  return cost;
}

planner::cost::CountShape count_shape(const PhysicalPlan& plan, double rows, double asking) {
  const SkylineStep& step = plan.preference->steps.front();
  const auto dims = static_cast<double>(step.keys.size());
  const auto key_bytes = static_cast<double>(width_of(*plan.preference, step));
  return {.rows = rows,
          .asking = asking,
          .dims = dims,
          .key_bytes = key_bytes,
          .sent = plan.on_device ? 0 : rows * dims * key_bytes};
}

OperatorCost device_cost(const PhysicalPlan& plan, const planner::cost::Cost& cost) {
  return {planner::seconds_of(cost) + plan.machine.cuda_start, cost.bytes};
}

OperatorCost counting_cost(const PhysicalPlan& plan, double rows, double compared, Counting counting) {
  const auto dims = static_cast<double>(plan.preference->steps.front().keys.size());
  const double partitions = std::max(plan.segments.expected, 1.0);
  const double sorting = rows * std::log2(std::max(rows / partitions, 2.0)) * unit_cost::kCountStep;
  double pairs = dims <= 2 ? 0 : rows * compared / partitions / 2 * dims * unit_cost::kCountPair;
  if (counting == Counting::exact && dims > 2) {
    // Halves of as many rows as there are pairs for, down to those that vectors compare.
    constexpr double kCompared = 1000;
    const double halvings = std::log2(std::max(std::sqrt(rows * compared) / partitions / kCompared, 2.0));
    pairs = std::min(pairs,
                     (rows + std::min(rows, compared)) / 2 * halvings * halvings * (dims - 2) * unit_cost::kCountHalf);
  }
  constexpr double kBytes = 64;  // numbers, places and weights
  constexpr double kCodes = 16;  // of each key: as made, without equal rows, in order, and in the window
  return {unit_cost::kStart + sorting + pairs / std::max(plan.machine.threads, 1), rows * (kBytes + kCodes * dims)};
}

planner::Cardinality lay_out_skyline(PhysicalPlan& plan, const Table& table, const planner::Cardinality& input) {
  planner::Cardinality rows = input;
  if (!plan.preference) return rows;
  const PreferencePlan& preference = *plan.preference;
  std::string all;
  for (const SkylineStep& step : preference.steps) all += (all.empty() ? "" : "; then ") + describe(preference, step);
  plan.operators.skyline_keys = make_operator(OperatorKind::skyline_keys, all, rows);
  double bytes = 0;
  for (const SkylineStep& step : preference.steps) {
    bytes += static_cast<double>(step.keys.size()) * static_cast<double>(width_of(preference, step));
  }
  predict(*plan.operators.skyline_keys,
          keys_cost(preference_expressions(plan), bytes, rows_of_keys(plan, table, rows.expected, is_listed(plan)),
                    plan.machine.threads));
  if (plan.query.skyband) return lay_out_skyband(plan, rows);
  for (std::size_t s = 0; s < preference.steps.size(); ++s) {
    const SkylineStep& step = preference.steps[s];
    // Later steps only decide between equal rows, of which nothing is known.
    rows =
        s == 0 ? rows_of_levels(plan, rows) : planner::Cardinality{std::min(rows.low, 1.0), rows.expected, rows.high};
    const bool last = s + 1 == preference.steps.size();
    plan.operators.skyline.push_back(make_operator(
        OperatorKind::skyline,
        (s == 0 ? "" : "then, among equals, ") + describe(preference, step) + (last ? describe_levels(plan.query) : ""),
        rows));
    plan.operators.skyline.back().step = s;
    if (s == 0) plan.operators.skyline.back().statistics = described_preference(plan.sample.preference, rows.expected);
  }
  return rows;
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

planner::Statistics skyline_of_prefix(const PhysicalPlan& plan, const kernels::TopKShape& selection) {
  const auto count = static_cast<double>(selection.k);
  const auto shape = shape_of(plan.preference->steps.front(), KeyWidth::bytes4, static_cast<std::int64_t>(selection.k));
  const double kept = std::min({plan.operators.skyline.front().estimate.rows.expected, count,
                                planner::skyline_rows(shape, plan.sample.preference)});
  planner::Statistics statistics;
  statistics.sample = plan.sample.preference.sample;
  statistics.growth = {.sample = count, .dims = planner::effective_dims(count, std::max(kept, 1.0))};
  return statistics;
}

planner::Statistics skyline_prefix_statistics(const PhysicalPlan& plan) {
  planner::Statistics statistics;
  statistics.selectivity = plan.sample.selectivity.value_or(1);
  return statistics;
}

std::vector<const query::BoundExpression*> preference_expressions(const PhysicalPlan& plan) {
  std::vector<const query::BoundExpression*> expressions;
  for (const query::BoundPreference& term : plan.preference->terms) expressions.push_back(&term.expression);
  return expressions;
}

OperatorCost skyline_keys_cost(const PhysicalPlan& plan, const Table& table, double rows, bool listed) {
  const Operator& keys = *plan.operators.skyline_keys;
  const double bytes = keys.estimate.bytes / std::max(keys.estimate.rows.expected, 1.0);
  const auto expressions = preference_expressions(plan);
  const auto all = static_cast<double>(table.num_rows());
  if (!plan.on_device) {
    return keys_cost(expressions, bytes, rows_of_keys(plan, table, rows, listed), plan.machine.threads);
  }
  const double share = listed ? rows / std::max(all, 1.0) : 1;
  return device_keys_cost(expressions, residency_of(columns_of(expressions), table).row_bytes, bytes, rows, share);
}

planner::Choice<kernels::SkylineAlgorithm> step_path(const PhysicalPlan& plan, std::size_t s, double rows,
                                                     const planner::Statistics& statistics) {
  const SkylineStep& step = plan.preference->steps[s];
  const auto shape = shape_of(step, width_of(*plan.preference, step), segment_rows(plan, rows));
  return skyline_path(plan, shape, statistics);
}

// Later steps compare rows that are equal in the earlier ones, of which there are no statistics.
planner::Choice<kernels::SkylineAlgorithm> step_path(const PhysicalPlan& plan, std::size_t s, double rows) {
  return step_path(plan, s, rows,
                   s > 0                                       ? planner::Statistics{}
                   : plan.strategy == Strategy::skyline_prefix ? skyline_of_prefix(plan, *plan.selection)
                                                               : plan.sample.preference);
}

void choose_skyline_paths(PhysicalPlan& plan) {
  double rows = plan.operators.skyline_keys ? plan.operators.skyline_keys->estimate.rows.expected : 0;
  if (plan.query.skyband) return;
  for (Operator& step : plan.operators.skyline) {
    PathDescription& path = step.path.emplace(describe_path(step_path(plan, step.step, rows)));
    if (step.step == 0) {
      const auto n = static_cast<double>(segment_rows(plan, rows));
      const kernels::SkylineShape shape =
          shape_of(plan.preference->steps[0], KeyWidth::bytes4, static_cast<std::int64_t>(n));
      price_levels(path, plan, n, planner::skyline_rows(shape, plan.sample.preference));
    }
    price_repeated(path, partitions_to_solve(plan, rows), plan.machine.threads);
    rows = step.estimate.rows.expected;
  }
}

std::string describe_lower_levels(const kernels::SkylineAlgorithm& path, std::int64_t from) {
  return "from level " + std::to_string(from) + " on by " + std::string(path.name);
}

std::string describe_at_once(const PhysicalPlan& plan, std::int64_t from) {
  const std::size_t keys = plan.preference->steps.front().keys.size();
  return "from level " + std::to_string(from) + " on all levels at once by " +
         std::string(kernels::levels_algorithm(keys)) + " on cpu";
}

void price_levels(PathDescription& path, const PhysicalPlan& plan, double rows, double level_rows) {
  constexpr int kMaxLevels = 10'000;  // one by one are no more
  const auto wanted_levels = static_cast<double>(plan.query.levels.value_or(1));
  if (wanted_levels <= 1 && !plan.query.at_least) return;
  const double first_rows = std::max(level_rows, 1.0);
  const bool on_gpu = path.device == kernels::Device::cuda;  // and all levels with it
  const ExpectedLevels lower = on_gpu ? ExpectedLevels{first_rows, path.predicted_ms / 1e3}
                                      : expected_levels(plan, rows, first_rows, path.predicted_ms / 1e3);
  LevelStrategy strategy(static_cast<double>(plan.preference->steps.front().keys.size()), plan.machine.threads, 0);
  double left = rows;
  for (int levels = 1; levels < kMaxLevels; ++levels) {
    const double level = levels == 1 ? first_rows : std::min(lower.rows, left);
    strategy.took_level(left, level, lower.seconds * left / rows);
    left -= level;
    std::optional<double> wanted_rows;
    if (plan.query.at_least) wanted_rows = static_cast<double>(*plan.query.at_least) - (rows - left);
    if (left < 1 || (wanted_rows ? *wanted_rows <= 0 : levels >= wanted_levels)) return;
    const double wanted = wanted_levels - levels;
    if (can_level_at_once(*plan.preference) && strategy.prefers_at_once(left, wanted, wanted_rows)) {
      path.predicted_ms += strategy.at_once_seconds(left, wanted, wanted_rows) * 1e3;
      path.reason += "; expected " + describe_at_once(plan, levels + 1);
      return;
    }
    if (levels == 1 && lower.algorithm != nullptr && lower.algorithm->name != path.algorithm) {
      path.reason += "; expected " + describe_lower_levels(*lower.algorithm, 2);
    }
    path.predicted_ms += lower.seconds * left / rows * 1e3;
  }
}

}  // namespace skyrank::exec
