#include "engine/operators/skyline/skyline.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/keys/device/make_device_keys.hpp"
#include "engine/keys/device_keys.hpp"
#include "engine/keys/key_columns.hpp"
#include "engine/operators/skyline/levels_at_once.hpp"

namespace skyrank::exec {
namespace {

using kernels::KeyWidth;
using kernels::Memory;
using kernels::cuda::DeviceArray;
using kernels::cuda::skyline::SkylineRows;

StepKeys make_step_keys(const SkylineStep& step, const std::vector<Keys>& terms, std::int64_t n) {
  StepKeys result;
  for (const KeyTerms& key : step.keys) {
    std::vector<Keys> parts;
    for (const std::size_t term : key) parts.push_back(terms[term]);
    result.columns.push_back(parts.size() == 1 ? parts.front() : combine_prior(parts, n));
  }
  const bool wide = std::any_of(result.columns.begin(), result.columns.end(),
                                [](const Keys& keys) { return keys.column.width == KeyWidth::bytes8; });
  result.width = wide ? KeyWidth::bytes8 : KeyWidth::bytes4;
  for (Keys& keys : result.columns) keys = widen(keys, n, result.width);
  return result;
}

Vector<std::int64_t> all_positions(std::int64_t n) {
  Vector<std::int64_t> positions(static_cast<std::size_t>(n));
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

Keys make_or_share(const query::BoundPreference& term, const Table& table, const RowSet& rows, DeviceQueryState* device,
                   KeyShare* share) {
  const bool by_value = term.kind == Preference::Kind::low || term.kind == Preference::Kind::high;
  const auto make = [&] {
    return device != nullptr ? make_keys(*device, term, table, rows) : make_keys(term, table, rows.view());
  };
  if (share == nullptr || !by_value) return make();
  const bool high = (term.kind == Preference::Kind::high) != term.inverted;
  return share->get(name_of_keys(term.expression, high, term.nulls_first), rows.size(), make);
}

/// Copies positions to the device, and all other positions below n if `with_others`.
SkylineRows rows_on_device(const Vector<std::int64_t>& rows, std::int64_t n, bool with_others) {
  const auto array = [](const Vector<std::int64_t>& list) {
    return DeviceArray(list.data(), list.size() * sizeof(std::int64_t));
  };
  return {array(rows), rows.size(), with_others ? array(all_but(rows, n)) : DeviceArray()};
}

}  // namespace

bool are_on_device(const SkylineKeys& keys) {
  return std::ranges::all_of(keys.steps, [](const StepKeys& step) {
    return std::ranges::all_of(step.columns, [](const Keys& column) { return column.memory == Memory::device; });
  });
}

SkylineKeys make_skyline_keys(const PreferencePlan& plan, const Table& table, const RowSet& rows,
                              DeviceQueryState* device, KeyShare* share) {
  std::vector<Keys> terms;
  for (const query::BoundPreference& term : plan.terms) {
    terms.push_back(make_or_share(term, table, rows, device, share));
  }
  SkylineKeys keys{rows.size(), {}};
  for (const SkylineStep& step : plan.steps) keys.steps.push_back(make_step_keys(step, terms, rows.size()));
  return keys;
}

SkylineKeys take(const SkylineKeys& keys, std::span<const std::int64_t> positions, std::size_t from_step) {
  if (from_step == 0 && are_on_device(keys)) {
    return take(keys, DeviceArray(positions.data(), positions.size_bytes()), positions.size());
  }
  SkylineKeys taken{static_cast<std::int64_t>(positions.size()), std::vector<StepKeys>(keys.steps.size())};
  for (std::size_t s = from_step; s < keys.steps.size(); ++s) {
    taken.steps[s].width = keys.steps[s].width;
    for (const Keys& column : keys.steps[s].columns) taken.steps[s].columns.push_back(take(column, positions));
  }
  return taken;
}

SkylineKeys take(const SkylineKeys& keys, const DeviceArray& positions, std::size_t count) {
  SkylineKeys taken{static_cast<std::int64_t>(count), std::vector<StepKeys>(keys.steps.size())};
  for (std::size_t s = 0; s < keys.steps.size(); ++s) {
    taken.steps[s].width = keys.steps[s].width;
    for (const Keys& column : keys.steps[s].columns) {
      taken.steps[s].columns.push_back(take_on_device(column, positions, count));
    }
  }
  return taken;
}

SkylineKeys slice(const SkylineKeys& keys, std::int64_t begin, std::int64_t end) {
  SkylineKeys part{end - begin, keys.steps};
  for (StepKeys& step : part.steps) {
    for (Keys& column : step.columns) column = slice(column, begin);
  }
  return part;
}

SkylineSolver::SkylineSolver(const PreferencePlan& plan, const ExecutionContext& context, std::int64_t largest)
    : plan_(plan), context_(context), largest_(largest) {
  // Later steps see rows that are equal in the ones before; of these nothing is known.
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    choosers_.emplace_back(context, largest, s == 0 ? context.preference : planner::Statistics{});
  }
}

Vector<std::int64_t> SkylineSolver::best_level(const SkylineKeys& keys, std::int64_t level_above,
                                               StepReports& reports) {
  return best(keys, 0, level_above, reports);
}

Vector<std::int64_t> SkylineSolver::best(const SkylineKeys& keys, std::size_t step, std::int64_t level_above,
                                         StepReports& reports) {
  Vector<std::int64_t> rows = run(keys, step, level_above, reports[step]);
  if (step + 1 == num_steps()) return rows;
  const Runs groups = runs_of_equal(keys.steps[step].columns, std::move(rows));
  Vector<std::int64_t> result;
  for (std::size_t g = 0; g + 1 < groups.bounds.size(); ++g) {
    const auto group = std::span(groups.positions)
                           .subspan(static_cast<std::size_t>(groups.bounds[g]),
                                    static_cast<std::size_t>(groups.bounds[g + 1] - groups.bounds[g]));
    for (const std::int64_t i : best(take(keys, group, step + 1), step + 1, 0, reports)) result.push_back(group[i]);
  }
  std::sort(result.begin(), result.end());
  return result;
}

Vector<std::int64_t> SkylineSolver::run(const SkylineKeys& keys, std::size_t step, std::int64_t level_above,
                                        Report& report) {
  if (keys.n <= 1) {
    report.rows += keys.n;
    return all_positions(keys.n);
  }
  context_.kernel_context.check();
  const KeyWidth width = keys.steps[step].width;
  const auto& chosen = level_above > 0 ? level_path(width, keys.n, level_above) : path(step, width, keys.n);
  const HeldKeys held(keys.steps[step].columns, keys.n, chosen.algorithm->device);
  const kernels::SkylineProblem problem{.n = static_cast<std::size_t>(keys.n),
                                        .keys = held.columns(),
                                        .order = plan_.steps[step].order,
                                        .memory = held.memory()};
  if (chosen.guard) {
    return run_guarded(*chosen.guard, *chosen.algorithm, chosen.parameters, problem, keys.steps[step].columns, report);
  }
  const double before = report.ms;
  Vector<std::int64_t> rows = run_path(chosen, problem, context_, report);
  // Nothing is known of rows of later steps and of levels.
  if (step == 0 && level_above == 0) {
    tell(context_, chosen, shape_of(plan_.steps[0], width, keys.n), context_.preference, report.ms - before);
  }
  return rows;
}

/// Runs an algorithm as long as its guard allows, and the fallback over the rows that it leaves, if it leaves any.
Vector<std::int64_t> SkylineSolver::run_guarded(const SkylineGuard& guard, const kernels::SkylineAlgorithm& algorithm,
                                                const kernels::ParameterValues& parameters,
                                                kernels::SkylineProblem problem, const std::vector<Keys>& columns,
                                                Report& report) {
  const std::uint64_t allowed = report.guard.allow(guard);
  kernels::Guard steps(context_.guard_steps.value_or(allowed));
  const auto finish = [&](const kernels::SkylineProblem& left) {
    const auto rows = static_cast<std::int64_t>(left.n);
    auto solution = run_algorithm(*guard.fallback, guard.parameters, left, context_, report);
    report.guard.struck(guard, steps.spent(), rows, static_cast<std::int64_t>(solution.rows.size()));
    return std::move(solution.rows);
  };
  if (steps.left() == 0) return finish(problem);
  problem.guard = &steps;
  auto solution = run_algorithm(algorithm, parameters, problem, context_, report);
  report.guard.spent += steps.spent();
  if (solution.complete) return std::move(solution.rows);
  std::vector<Keys> left;
  for (const Keys& column : columns) left.push_back(take(column, solution.rows));
  const auto n = static_cast<std::int64_t>(solution.rows.size());
  const HeldKeys held(left, n, guard.fallback->device);
  Vector<std::int64_t> rows = finish({.n = solution.rows.size(), .keys = held.columns(), .order = problem.order});
  for (std::int64_t& row : rows) row = solution.rows[static_cast<std::size_t>(row)];
  return rows;
}

bool SkylineSolver::can_level_at_once(const SkylineKeys& keys) const {
  return exec::can_level_at_once(plan_) && keys.n <= static_cast<std::int64_t>(kernels::kMaxLevelRows);
}

Vector<std::int32_t> SkylineSolver::levels(const SkylineKeys& keys, std::int32_t max_levels, StepReports& reports) {
  Stopwatch watch;
  kernels::LevelsSolution solution = levels_at_once(keys, max_levels, context_.kernel_context);
  const auto rows = std::ranges::count_if(solution.levels, [&](std::int32_t level) { return level < max_levels; });
  reports.front() += {rows, watch.lap(), 0, solution.work};
  return std::move(solution.levels);
}

SkylineRows SkylineSolver::best_on_device(const SkylineKeys& keys, bool with_others, Report& report) {
  if (keys.n <= 1) return rows_on_device(run(keys, 0, 0, report), keys.n, with_others);
  const auto& chosen = path(0, keys.steps[0].width, keys.n);
  const auto solve = chosen.algorithm->variants.resident;
  if (solve == nullptr) return rows_on_device(run(keys, 0, 0, report), keys.n, with_others);
  context_.kernel_context.check();
  const HeldKeys held(keys.steps[0].columns, keys.n, kernels::Device::cuda);
  const kernels::SkylineProblem problem{.n = static_cast<std::size_t>(keys.n),
                                        .keys = held.columns(),
                                        .order = plan_.steps[0].order,
                                        .memory = held.memory()};
  Stopwatch watch;
  SkylineRows found = solve(problem, chosen.parameters, context_.kernel_context, with_others);
  report += {static_cast<std::int64_t>(found.count), watch.lap(), found.times.h2d_ms + found.times.d2h_ms, found.work};
  return found;
}

const planner::Choice<kernels::SkylineAlgorithm>& SkylineSolver::path(std::size_t step, KeyWidth width,
                                                                      std::int64_t n) {
  return choosers_[step](shape_of(plan_.steps[step], width, n));
}

const planner::Choice<kernels::SkylineAlgorithm>& SkylineSolver::level_path(KeyWidth width, std::int64_t n,
                                                                            std::int64_t level_above) {
  const auto& first = path(0, width, n);
  if (first.algorithm->device == kernels::Device::cuda) return first;
  const kernels::SkylineShape shape = shape_of(plan_.steps[0], width, n);
  const double level_rows = planner::level_rows_below(shape, context_.preference, static_cast<double>(level_above));
  if (level_rows == 0) return first;
  const auto& chosen = level_chooser(level_rows)(shape);
  return chosen.algorithm->device == kernels::Device::cpu ? chosen : first;  // all levels on one device
}

SkylineSolver::SkylineChooser& SkylineSolver::level_chooser(double level_rows) {
  const std::lock_guard lock(mutex_);
  const auto known = level_choosers_.find(level_rows);
  if (known != level_choosers_.end()) return known->second;
  planner::Statistics statistics = context_.preference;
  statistics.level_rows = level_rows;
  return level_choosers_.try_emplace(level_rows, context_, largest_, statistics).first->second;
}

Vector<std::int64_t> all_but(const Vector<std::int64_t>& rows, std::int64_t n) {
  Vector<std::int64_t> rest;
  rest.reserve(static_cast<std::size_t>(n) - rows.size());
  auto next = rows.begin();
  for (std::int64_t i = 0; i < n; ++i) {
    if (next != rows.end() && *next == i) {
      ++next;
    } else {
      rest.push_back(i);
    }
  }
  return rest;
}

kernels::SkylineShape shape_of(const SkylineStep& step, KeyWidth width, std::int64_t n) {
  return {
      .n = static_cast<std::size_t>(n), .d = step.keys.size(), .width = width, .general_order = !step.order.empty()};
}

}  // namespace skyrank::exec
