#include "engine/plan/paths.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "engine/operators/rank.hpp"
#include "engine/operators/skyline/level_strategy.hpp"
#include "engine/operators/skyline/levels_at_once.hpp"
#include "engine/operators/skyline/skyline.hpp"
#include "planner/cost/cuda_partitions.hpp"
#include "planner/cost/levels.hpp"
#include "planner/facts/estimate.hpp"

namespace skyrank::exec {
namespace {

using kernels::KeyWidth;

/// Returns an upper bound of the partitions with two rows or more, as each of them has a row beyond its first.
double partitions_to_solve(const PhysicalPlan& plan, double rows) {
  return std::min(plan.segments, std::max(rows - plan.segments, 1.0));
}

/// Returns the machine with the memory that is left for a kernel beside its keys and the operators before it.
planner::Machine machine_beside(const PhysicalPlan& plan, const std::optional<Operator>& keys) {
  planner::Machine machine = plan.machine;
  const Operators& operators = plan.operators;
  for (const auto* op : {&operators.filter, &operators.group, &operators.missing, &operators.partition, &keys}) {
    if (*op) machine.host_bytes = std::max(machine.host_bytes - (*op)->estimate.bytes, 0.0);
  }
  return machine;
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

}  // namespace

planner::Choice<kernels::TopKAlgorithm> rank_path(const PhysicalPlan& plan) {
  const std::int64_t n = segment_rows(plan, plan.operators.rank_keys->estimate.rows);
  planner::Constraints constraints = plan.constraints;
  if (plan.device_partitions) constraints.device = kernels::Device::cuda;
  const ExecutionContext context{
      constraints, machine_beside(plan, plan.operators.rank_keys), {}, {}, plan.sample.ranking};
  return Ranker(window_of(plan.query), context, n).path(packed_widths(ranking_widths(plan), packs_ranking(plan)), n);
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

double partitions_to_solve(const Segments& segments) {
  double count = 0;
  for (std::int64_t s = 0; s < segments.count(); ++s) count += segments.size(s) > 1 ? 1 : 0;
  return count;
}

void price_repeated(PathDescription& path, double times, int threads) {
  if (times <= 1) return;
  const double factor = times / std::min<double>(times, threads);
  path.predicted_ms *= factor;
  for (Alternative& other : path.alternatives) other.predicted_ms *= factor;
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

void price_at_once(PathDescription& path, double count, double rows, double k, double key_bytes) {
  const auto cost = planner::cost::cuda_partitions({.partitions = count, .rows = rows, .k = k, .key_bytes = key_bytes});
  path.predicted_ms = planner::seconds_of(cost) * 1e3;
  path.predicted_bytes = cost.bytes;
  path.reason = "all partitions in one launch, a block for each";
  path.alternatives.clear();  // of one partition
}

namespace {

/// Chooses the path of the ranking, or prices that of all partitions at once.
void choose_rank_path(PhysicalPlan& plan) {
  const double rows = plan.operators.rank_keys->estimate.rows;
  const auto path = rank_path(plan);
  PathDescription& order = plan.operators.order->path.emplace(describe_path(path));
  const std::vector<KeyWidth> widths = packed_widths(ranking_widths(plan), packs_ranking(plan));
  const Window window = window_of(plan.query);
  const std::int64_t largest = segment_rows(plan, rows);
  const bool there = plan.on_device && path.algorithm->device == kernels::Device::cuda && widths.size() == 1;
  if (there && ranks_at_once(window, std::llround(plan.segments), largest)) {
    return price_at_once(order, plan.segments, rows, static_cast<double>(window.end(largest)),
                         static_cast<double>(widths.front()));
  }
  price_repeated(order, partitions_to_solve(plan, rows), plan.machine.threads);
}

}  // namespace

void choose_paths(PhysicalPlan& plan) {
  if (plan.strategy == Strategy::fused_ranking) {
    const auto path = planner::choose(*plan.selection, plan.constraints, plan.machine, plan.sample.ranking);
    plan.operators.order->path = describe_path(path);
    return;
  }
  double rows = plan.operators.skyline_keys ? plan.operators.skyline_keys->estimate.rows : 0;
  for (Operator& step : plan.operators.skyline) {
    PathDescription& path = step.path.emplace(describe_path(step_path(plan, step.step, rows)));
    if (step.step == 0) {
      const auto n = static_cast<double>(segment_rows(plan, rows));
      const kernels::SkylineShape shape =
          shape_of(plan.preference->steps[0], KeyWidth::bytes4, static_cast<std::int64_t>(n));
      price_levels(path, plan, n, planner::skyline_rows(shape, plan.sample.preference));
    }
    price_repeated(path, partitions_to_solve(plan, rows), plan.machine.threads);
    rows = step.estimate.rows;
  }
  if (!plan.operators.rank_keys || plan.partition_top_k) return;
  choose_rank_path(plan);
}

}  // namespace skyrank::exec
