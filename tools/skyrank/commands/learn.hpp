#pragma once

#include <string>
#include <vector>

#include "planner/calibration_runs.hpp"
#include "planner/price_list.hpp"
#include "tools/skyrank/commands.hpp"

namespace skyrank::tools {

/// Kernels that ran, and the profile by which they were planned.
struct LearnedRuns {
  std::vector<planner::CalibrationRun> runs;
  planner::Profile known;
};

/// Runs the queries of batches by each algorithm of the CPU that the planner considers for them, in turns, and returns
/// the kernels that ran alone, each with the least of its times. Throws what opening a batch and running a query throw.
LearnedRuns learn(const std::vector<std::filesystem::path>& batches, Console& console, Signals& signals);

/// Says how well prices predict runs, and what choices by them cost, before and after a fit to these runs.
std::string describe_fit(const std::vector<planner::CalibrationRun>& runs, const planner::PriceList& before,
                         const planner::PriceList& after);

}  // namespace skyrank::tools
