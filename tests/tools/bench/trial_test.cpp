#include "tools/bench/planner/trial.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string_view>

namespace skyrank::bench {
namespace {

using planner::CalibrationRun;

/// Long enough a time that none of the cell's paths takes it.
constexpr double kDisturbed = 1000;

Cell cell_of_two() {
  Cell cell;
  cell.op = Op::topk;
  cell.distribution = "uniform";
  cell.n = 20000;
  cell.k = 10;
  cell.threads = 1;
  cell.repeats = 2;
  cell.algorithms = {"heap", "nth-element"};
  return cell;
}

CalibrationRun& run_of(std::vector<CalibrationRun>& runs, std::string_view algorithm) {
  return *std::ranges::find(runs, algorithm, &CalibrationRun::algorithm);
}

/// Returns a run that took so long, as the next pass leaves it after so many passes.
CalibrationRun next_pass(double seconds, int passes) {
  std::vector<CalibrationRun> runs = try_cell(cell_of_two(), {});
  CalibrationRun& heap = run_of(runs, "heap");
  heap.seconds = seconds;
  heap.passes = passes;
  run_of(runs, "nth-element").passes = passes;
  runs = try_cell(cell_of_two(), {}, runs);
  EXPECT_EQ(run_of(runs, "nth-element").passes, passes + 1);
  return run_of(runs, "heap");
}

TEST(Trial, TimesEveryPathOnce) {
  const std::vector<CalibrationRun> runs = try_cell(cell_of_two(), {});
  ASSERT_EQ(runs.size(), 2);
  for (const CalibrationRun& run : runs) {
    EXPECT_EQ(run.passes, 1);
    EXPECT_LT(run.seconds, kDisturbed);
  }
}

TEST(Trial, OnePassAloneRulesNoPathOut) {
  const CalibrationRun run = next_pass(kDisturbed, 1);
  EXPECT_LT(run.seconds, kDisturbed);
  EXPECT_EQ(run.passes, 2);
}

TEST(Trial, TwoPassesRuleOutWhatIsFarFromTheBest) {
  const CalibrationRun run = next_pass(kDisturbed, 2);
  EXPECT_EQ(run.seconds, kDisturbed);
  EXPECT_EQ(run.passes, 2);
}

TEST(Trial, StoppedRunsAreNotRepeated) { EXPECT_EQ(next_pass(std::numeric_limits<double>::infinity(), 1).passes, 1); }

}  // namespace
}  // namespace skyrank::bench
