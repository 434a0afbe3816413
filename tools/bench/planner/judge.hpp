#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "planner/calibration_runs.hpp"

// How good the planner's choices and predictions are, by runs that its models were not fitted to.
namespace skyrank::bench {

/// One query: what would be chosen, and what would have been best.
struct Verdict {
  std::string query;
  std::string chosen;
  std::string best;
  double predicted_ms = 0;
  double chosen_ms = 0;  ///< measured; infinite when it was stopped
  double best_ms = 0;
  double planning_ms = 0;
  bool statistics = false;  ///< true if a sample was taken

  double regret() const { return chosen_ms / best_ms; }
  double ratio() const { return predicted_ms / chosen_ms; }
};

/// One verdict a query of `runs`, but for those that no path has ended.
std::vector<Verdict> judge(const std::vector<planner::CalibrationRun>& runs, const planner::Profile& profile);

struct Score {
  std::size_t queries = 0;
  double median_regret = 0;
  double p95_regret = 0;
  double max_regret = 0;
  double within_25_percent = 0;    ///< share of predictions that are off by no more
  double planning_without_ms = 0;  ///< the most, without statistics
  double p95_planning_share_with =
      0;  ///< share of the best path's time, with statistics, for queries of a millisecond or more
};

Score score_of(const std::vector<Verdict>& verdicts);

/// The targets that a score falls short of, one sentence each; empty: none.
std::vector<std::string> shortfalls(const Score& score);

void write_verdicts(std::ostream& out, const std::vector<Verdict>& verdicts);

}  // namespace skyrank::bench
