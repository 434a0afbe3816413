#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "engine/device/device_query_state.hpp"
#include "engine/device/row_set.hpp"
#include "engine/keys/key_cache.hpp"
#include "engine/keys/key_columns.hpp"
#include "engine/keys/preference_plan.hpp"
#include "engine/plan/kernel_path.hpp"
#include "kernels/cuda/skyline/resident.hpp"

// Makes the keys of a preference and answers it in steps, each of which is a skyline problem of kernels/.
namespace skyrank::exec {

/// The key columns of one step, of one width, 4 or 8 bytes.
struct StepKeys {
  std::vector<Keys> columns;
  kernels::KeyWidth width = kernels::KeyWidth::bytes4;
};

/// The keys of n rows for all steps of a preference.
struct SkylineKeys {
  std::int64_t n = 0;
  std::vector<StepKeys> steps;
};

/// Returns true if all keys are in the device's memory.
bool are_on_device(const SkylineKeys& keys);

/// Makes the keys of all steps: on the device if `device` is given; else keys of `low` and `high` may come from
/// `share`.
SkylineKeys make_skyline_keys(const PreferencePlan& plan, const Table& table, const RowSet& rows,
                              DeviceQueryState* device = nullptr, KeyShare* share = nullptr);

/// Returns the keys of the rows at `positions`, in that order, without the steps before `from_step`.
SkylineKeys take(const SkylineKeys& keys, std::span<const std::int64_t> positions, std::size_t from_step = 0);

/// Returns the same for `count` positions (int64) on the device, of keys that are there.
SkylineKeys take(const SkylineKeys& keys, const kernels::cuda::DeviceArray& positions, std::size_t count);

/// Returns a view of the rows [begin, end), which `keys` must outlive.
SkylineKeys slice(const SkylineKeys& keys, std::int64_t begin, std::int64_t end);

/// The reports of the steps.
using StepReports = std::vector<Report>;

/// Finds the rows that no other row is preferred to. Safe to use from many threads at once.
class SkylineSolver {
 public:
  /// No problem will have more than `largest` rows. `plan` and `context` must outlive the solver.
  SkylineSolver(const PreferencePlan& plan, const ExecutionContext& context, std::int64_t largest);

  const ExecutionContext& context() const { return context_; }
  std::size_t num_steps() const { return plan_.steps.size(); }

  /// Positions of the best rows, ascending.
  Vector<std::int64_t> best(const SkylineKeys& keys, StepReports& reports) { return best_level(keys, 0, reports); }

  /// Returns the same for the rows below a Pareto level, in which the first step kept `level_above` rows; 0 for the
  /// first level.
  Vector<std::int64_t> best_level(const SkylineKeys& keys, std::int64_t level_above, StepReports& reports);

  /// Returns true if `levels` can take these keys.
  bool can_level_at_once(const SkylineKeys& keys) const;

  /// Pareto levels, from 0, of all rows of `keys`, on the CPU; rows beyond `max_levels` get that level.
  Vector<std::int32_t> levels(const SkylineKeys& keys, std::int32_t max_levels, StepReports& reports);

  /// Returns the best rows by keys on the device, for a preference of one step; `with_others` all other rows, too. Both
  /// lists stay on the device.
  kernels::cuda::skyline::SkylineRows best_on_device(const SkylineKeys& keys, bool with_others, Report& report);

  /// The path of a step for a problem of n rows.
  const planner::Choice<kernels::SkylineAlgorithm>& path(std::size_t step, kernels::KeyWidth width, std::int64_t n);

  /// The path of the first step for n rows below a Pareto level of `level_above` rows. Deeper levels have more rows
  /// than the first one, which `path` is chosen for.
  const planner::Choice<kernels::SkylineAlgorithm>& level_path(kernels::KeyWidth width, std::int64_t n,
                                                               std::int64_t level_above);

 private:
  using SkylineChooser = Chooser<kernels::SkylineAlgorithm>;

  Vector<std::int64_t> best(const SkylineKeys& keys, std::size_t step, std::int64_t level_above, StepReports& reports);
  Vector<std::int64_t> run(const SkylineKeys& keys, std::size_t step, std::int64_t level_above, Report& report);
  Vector<std::int64_t> run_guarded(const SkylineGuard& guard, const kernels::SkylineAlgorithm& algorithm,
                                   const kernels::ParameterValues& parameters, kernels::SkylineProblem problem,
                                   const std::vector<Keys>& columns, Report& report);
  SkylineChooser& level_chooser(double level_rows);

  const PreferencePlan& plan_;
  const ExecutionContext& context_;
  std::int64_t largest_;
  std::deque<SkylineChooser> choosers_;  // one a step
  std::mutex mutex_;
  std::map<double, SkylineChooser> level_choosers_;  // by the expected size of a level
};

/// Returns the numbers of [0, n) that are not in `rows`; both ascend.
Vector<std::int64_t> all_but(const Vector<std::int64_t>& rows, std::int64_t n);

/// The shape of a step's problem with n rows.
kernels::SkylineShape shape_of(const SkylineStep& step, kernels::KeyWidth width, std::int64_t n);

}  // namespace skyrank::exec
