#include "engine/operators/skyline/levels_at_once.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "engine/keys/device_keys.hpp"

namespace skyrank::exec {
namespace {

using kernels::LevelsSolution;

LevelsSolution solve(const std::vector<Keys>& columns, std::int64_t n, std::span<const std::int32_t> heights,
                     std::int32_t max_levels, const kernels::Context& context) {
  const HeldKeys held(columns, n, kernels::Device::cpu);
  return kernels::find_levels(
      {.n = static_cast<std::size_t>(n), .keys = held.columns(), .heights = heights, .max_levels = max_levels},
      context);
}

/// Rows that a step finds equal, with their levels among each other.
struct EqualRows {
  Runs runs;
  Vector<std::int32_t> inner;    ///< level of each row within its run
  Vector<std::int32_t> heights;  ///< levels of each run
  kernels::Work work;
};

LevelsSolution levels_from(const SkylineKeys& keys, std::size_t step, std::int32_t max_levels,
                           const kernels::Context& context);

EqualRows level_runs(const SkylineKeys& keys, std::size_t step, std::int32_t max_levels,
                     const kernels::Context& context) {
  Vector<std::int64_t> rows(static_cast<std::size_t>(keys.n));
  std::iota(rows.begin(), rows.end(), 0);
  EqualRows equal{runs_of_equal(keys.steps[step].columns, std::move(rows)), Vector<std::int32_t>(keys.n), {}, {}};
  const Runs& runs = equal.runs;
  for (std::size_t r = 0; r + 1 < runs.bounds.size(); ++r) {
    const auto run = std::span(runs.positions).subspan(runs.bounds[r], runs.bounds[r + 1] - runs.bounds[r]);
    equal.heights.push_back(1);
    if (run.size() == 1) continue;
    const LevelsSolution found = levels_from(take(keys, run, step + 1), step + 1, max_levels, context);
    for (std::size_t i = 0; i < run.size(); ++i) equal.inner[run[i]] = found.levels[i];
    const std::int32_t deepest = *std::max_element(found.levels.begin(), found.levels.end());
    equal.heights.back() = std::min(deepest, max_levels - 1) + 1;
    equal.work += found.work;
  }
  return equal;
}

/// A step decides between runs of rows that it finds equal; each of these takes up as many levels as the later steps
/// make of its rows.
LevelsSolution levels_from(const SkylineKeys& keys, std::size_t step, std::int32_t max_levels,
                           const kernels::Context& context) {
  context.check();
  const std::vector<Keys>& columns = keys.steps[step].columns;
  if (step + 1 == keys.steps.size()) return solve(columns, keys.n, {}, max_levels, context);
  EqualRows equal = level_runs(keys, step, max_levels, context);
  Vector<std::int64_t> firsts;
  for (std::size_t r = 0; r + 1 < equal.runs.bounds.size(); ++r) {
    firsts.push_back(equal.runs.positions[equal.runs.bounds[r]]);
  }
  std::vector<Keys> of_runs;
  for (const Keys& column : columns) of_runs.push_back(take(column, firsts));
  const LevelsSolution outer =
      solve(of_runs, static_cast<std::int64_t>(firsts.size()), equal.heights, max_levels, context);
  LevelsSolution solution{std::move(equal.inner), equal.work};
  solution.work += outer.work;
  for (std::size_t r = 0; r + 1 < equal.runs.bounds.size(); ++r) {
    for (std::int64_t i = equal.runs.bounds[r]; i < equal.runs.bounds[r + 1]; ++i) {
      std::int32_t& level = solution.levels[equal.runs.positions[i]];
      level = level >= max_levels - outer.levels[r] ? max_levels : level + outer.levels[r];
    }
  }
  return solution;
}

}  // namespace

bool can_level_at_once(const PreferencePlan& plan) {
  return std::ranges::all_of(plan.steps, [](const SkylineStep& step) { return step.order.empty(); });
}

LevelsSolution levels_at_once(const SkylineKeys& keys, std::int32_t max_levels, const kernels::Context& context) {
  return levels_from(keys, 0, max_levels, context);
}

}  // namespace skyrank::exec
