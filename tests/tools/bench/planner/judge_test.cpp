#include "tools/bench/planner/judge.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

// The judge of the planner's choices: it takes what the planner would take, and compares it with the best of all runs.
namespace skyrank::bench {
namespace {

using planner::CalibrationRun;

CalibrationRun ranking(std::string algorithm, std::size_t n, double seconds) {
  CalibrationRun run{.algorithm = std::move(algorithm), .data = "uniform float32 1", .shape = {}, .statistics = {}};
  run.shape = kernels::TopKShape{.n = n, .k = 10, .widths = {kernels::KeyWidth::bytes4}};
  run.threads = 2;
  run.seconds = seconds;
  return run;
}

CalibrationRun skyline(std::string algorithm, double seconds) {
  CalibrationRun run{.algorithm = std::move(algorithm), .data = "independent float32 1", .shape = {}, .statistics = {}};
  run.shape = kernels::SkylineShape{.n = 1000000, .d = 8};
  run.seconds = seconds;
  return run;
}

std::vector<Verdict> judged(const std::vector<CalibrationRun>& runs) {
  return judge(runs, planner::built_in_profile());
}

TEST(JudgeOfPlans, ComparesTheChosenPathWithTheBest) {
  const auto verdicts = judged({ranking("sampled-threshold", 1000000, 3e-4), ranking("nth-element", 1000000, 1e-4)});
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts.front().chosen, "sampled-threshold");
  EXPECT_EQ(verdicts.front().best, "nth-element");
  EXPECT_NEAR(verdicts.front().regret(), 3, 1e-9);
}

// `sort` would be predicted cheapest among rows in order, but a plan leaves it out.
TEST(JudgeOfPlans, LeavesReferencesOutOfTheChoiceAlone) {
  std::vector<CalibrationRun> runs = {ranking("nth-element", 100000, 4e-4), ranking("sort", 100000, 1e-4)};
  for (CalibrationRun& run : runs) {
    run.statistics.sample = 1024;
    run.statistics.ascending = 1;
    run.statistics.best_ascending = 1;
  }
  runs.front().statistics.ascending = 0.5;
  const planner::PriceList prices(planner::built_in_profile());
  ASSERT_LT(planner::predict(runs.back(), prices), planner::predict(runs.front(), prices));
  const auto verdicts = judged(runs);
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts.front().chosen, "nth-element");
  EXPECT_EQ(verdicts.front().best, "sort");
}

TEST(JudgeOfPlans, ChoosesAmongReferencesWhereThereAreNoOthers) {
  const auto verdicts = judged({skyline("cuda-skyalign", 2e-2), skyline("skyalign", 4)});
  ASSERT_EQ(verdicts.size(), 1U);
  EXPECT_EQ(verdicts.front().chosen, "cuda-skyalign");
}

TEST(JudgeOfPlans, SaysNothingOfQueriesThatNoPathEnded) {
  EXPECT_TRUE(judged({ranking("heap", 1000, std::numeric_limits<double>::infinity())}).empty());
}

TEST(JudgeOfPlans, HoldsRegretAgainstItsTargets) {
  Verdict right;
  right.chosen_ms = right.best_ms = 1;
  std::vector<Verdict> verdicts(400, right);
  EXPECT_TRUE(shortfalls(score_of(verdicts)).empty());
  verdicts.front().chosen_ms = 1.7;
  EXPECT_EQ(shortfalls(score_of(verdicts)), std::vector<std::string>{"greatest regret 1.700 is above 1.6"});
}

}  // namespace
}  // namespace skyrank::bench
