#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "planner/calibration_runs.hpp"
#include "tools/bench/data/grid.hpp"

// Runs of all algorithms on a grid of problems, each with what the planner would know of it: what cost models are
// fitted to and judged by.
namespace skyrank::bench {

struct TrialOptions {
  std::optional<kernels::Device> device;  ///< only algorithms of this device
  std::stop_token stop;
  bool time = true;  ///< false: only statistics and planning of earlier runs are made anew
  std::function<void(const std::string&)> status = [](const std::string&) {};
};

/// Times every algorithm that supports the cell, in turns, the cell's `repeats` times after its warm-ups, and up to ten
/// times as often where runs are short or their times far apart; those that take three times as long as the best, only
/// once. Their medians come back. An algorithm that runs longer than the cell's budget, or `planner::kHopeless` times
/// as long as the best so far, is stopped and comes back with infinite seconds. Throws kernels::Cancelled after a stop
/// request, std::bad_alloc, and what make_data throws.
///
/// `earlier` are runs of the same cell: then only paths that came within twice the best are timed again, and those that
/// one pass alone has timed, unless they were stopped; of each the lesser median is kept. What other guests of a host
/// do to caches and memory lasts for seconds, so that a time is known only after some passes over all cells. Keys of a
/// cell that is `resident` are on the device before the first run.
std::vector<planner::CalibrationRun> try_cell(const Cell& cell, const TrialOptions& options,
                                              const std::vector<planner::CalibrationRun>& earlier = {});

}  // namespace skyrank::bench
