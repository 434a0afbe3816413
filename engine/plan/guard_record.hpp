#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "kernels/common/algorithm.hpp"
#include "planner/choose.hpp"

// Guards of skyline paths: what they allow, and what came of it. A task runs one problem after the other and keeps a
// record of its own, so that guards strike at the same points on any number of threads.
namespace skyrank::exec {

using SkylineGuard = planner::Guard<kernels::SkylineAlgorithm>;

/// The guards of the runs of a task, or of all tasks of an operator.
struct GuardRecord {
  std::int64_t tasks = 1;      ///< tasks of the operator, which share the steps that are allowed whatever is predicted
  std::uint64_t allowed = 0;   ///< steps that predictions allow the runs so far
  std::uint64_t spent = 0;     ///< steps of these runs
  std::int64_t runs = 0;       ///< runs that had a guard
  std::int64_t strikes = 0;    ///< runs that it ended, or that had no steps left
  std::int64_t rows_left = 0;  ///< rows that these left to the fallback
  double spared = 0;           ///< about the steps that these would have taken besides
  const kernels::SkylineAlgorithm* fallback = nullptr;  ///< took over last

  /// Returns the steps that the next run may take.
  std::uint64_t allow(const SkylineGuard& guard) {
    ++runs;
    allowed += guard.steps;
    const std::uint64_t limit = std::max(allowed, guard.min_steps / static_cast<std::uint64_t>(tasks));
    return limit - std::min(limit, spent);
  }

  /// Records that a run which took `steps` left `rows` rows, of which `kept` were in the skyline. They are compared
  /// with each other by any path of such a guard.
  void struck(const SkylineGuard& guard, std::uint64_t steps, std::int64_t rows, std::int64_t kept) {
    const auto all = static_cast<double>(kept);
    ++strikes;
    rows_left += rows;
    spared += std::max(0.0, all * all / 2 - static_cast<double>(steps));
    fallback = guard.fallback;
  }

  GuardRecord& operator+=(const GuardRecord& other) {
    allowed += other.allowed;
    spent += other.spent;
    runs += other.runs;
    strikes += other.strikes;
    rows_left += other.rows_left;
    spared += other.spared;
    if (other.fallback != nullptr) fallback = other.fallback;
    return *this;
  }
};

/// Describes a guard before a run: "4 x the predicted 1284 comparisons, at least 50000; then sfs over the rows left".
std::string describe(const SkylineGuard& guard);

/// Describes what guards did: "struck in 3 of 10 runs, after 51200 comparisons in all; ..."; empty if none struck.
std::string describe(const GuardRecord& record);

}  // namespace skyrank::exec
