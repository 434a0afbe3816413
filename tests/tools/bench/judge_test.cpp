#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"
#include "tools/bench/judge.hpp"

// The judge of answers: right ones pass, and every kind of wrong one is found.
namespace skyrank::bench {
namespace {

using kernels::KeyWidth;
using kernels::RowId;
using kernels::TieRule;
using kernels::tests::SkylineCase;
using kernels::tests::TopKCase;
using ::testing::ElementsAre;

const SkylineCase& five_points() {
  // Rows 0, 2 and 4 are the skyline; 1 is dominated by 0, 3 by 2.
  static const SkylineCase kCase(5, {{1, 2, 4, 5, 9}, {9, 9, 4, 5, 1}}, KeyWidth::bytes4);
  return kCase;
}

std::string judged(const kernels::SkylineProblem& problem, const Answer& answer) {
  return judge(problem, {&answer, 1}).front();
}

std::string judged(const kernels::TopKProblem& problem, const Answer& answer) {
  return judge(problem, {&answer, 1}).front();
}

TEST(JudgeOfSkylines, PassesTheRightAnswer) { EXPECT_EQ(judged(five_points().problem(), {0, 2, 4}), ""); }

TEST(JudgeOfSkylines, FindsWhatIsWrong) {
  const auto problem = five_points().problem();
  EXPECT_EQ(judged(problem, {0, 2}), "row 4 is missing: nothing dominates it");
  EXPECT_EQ(judged(problem, {0, 1, 2, 4}), "row 1 is dominated by row 0");
  EXPECT_EQ(judged(problem, {}), "row 0 is missing: nothing dominates it");
  EXPECT_EQ(judged(problem, {0, 4, 2}), "row 4 comes before row 2");
  EXPECT_EQ(judged(problem, {0, 2, 2, 4}), "row 2 comes before row 2");
  EXPECT_EQ(judged(problem, {0, 2, 4, 5}), "there is no row 5");
  EXPECT_EQ(judged(problem, {-1, 0, 2, 4}), "there is no row -1");
}

TEST(JudgeOfSkylines, EqualRowsDoNotDominateEachOther) {
  const SkylineCase data(4, {{3, 3, 3, 4}, {3, 3, 3, 3}}, KeyWidth::bytes8);
  EXPECT_EQ(judged(data.problem(), {0, 1, 2}), "");
  EXPECT_EQ(judged(data.problem(), {0, 2}), "row 1 is missing: nothing dominates it");
}

TEST(JudgeOfSkylines, TellsWhichOfTwoAnswersIsWrong) {
  const auto problem = five_points().problem();
  const std::vector<Answer> answers = {{0, 2}, {0, 2, 4}, {0, 2, 3, 4}, {7}};
  EXPECT_THAT(judge(problem, answers), ElementsAre("row 4 is missing: nothing dominates it", "",
                                                   "row 3 is dominated by row 2", "there is no row 7"));
}

TEST(JudgeOfSkylines, AgreesWithTheOracle) {
  for (const auto distribution : kernels::tests::kDistributions) {
    for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
      const SkylineCase data(300, make_columns(distribution, 300, 3, width, 1), width);
      const Answer answer = oracle::skyline(data.problem());
      EXPECT_EQ(judged(data.problem(), answer), "") << name_of(distribution);
      for (std::size_t i = 0; i < answer.size(); i += 7) {
        Answer without = answer;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
        EXPECT_NE(judged(data.problem(), without), "") << name_of(distribution);
      }
    }
  }
}

// Here the check of an answer by itself sees a sample only.
TEST(JudgeOfSkylines, SettlesASingleRowAmongManyAgainstAnotherAnswer) {
  constexpr std::size_t kRows = 40'000;
  kernels::tests::Values ascending(kRows);
  kernels::tests::Values descending(kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    ascending[i] = 2 * i + 10;
    descending[i] = 2 * (kRows - i);
  }
  ascending[777] = ascending[778];  // the one row that is dominated
  Answer right;
  for (std::size_t i = 0; i < kRows; ++i) {
    if (i != 777) right.push_back(static_cast<RowId>(i));
  }
  const SkylineCase data(kRows, {ascending, descending}, KeyWidth::bytes4);
  Answer less = right;
  less.erase(less.begin() + 30'000);
  Answer more = right;
  more.insert(more.begin() + 777, 777);
  EXPECT_THAT(judge(data.problem(), std::vector{less, right, more}),
              ElementsAre("row 30001 is missing: nothing dominates it", "", "row 777 is dominated by row 778"));
}

TEST(JudgeOfTopK, TakesAnswersWithoutOrder) {
  const TopKCase data(7, {{5, 3, 5, 5, 1, 5, 9}}, {KeyWidth::bytes4});
  const auto problem = data.problem(4, TieRule::first);
  KeptReference kept;
  const auto judged_set = [&](const Answer& answer) {
    const Answer set = as_set(answer, problem.n);
    return judge_sets(problem, {&set, 1}, kept).front();
  };
  EXPECT_EQ(judged_set({2, 4, 0, 1}), "");
  EXPECT_EQ(judged_set({4, 1, 0}), "3 rows instead of 4, of which 1 are missing");
  EXPECT_EQ(judged_set({4, 1, 0, 3}), "4 rows instead of 4, of which 1 are missing");
  EXPECT_EQ(judged_set({4, 1, 0, 0}), "4 rows instead of 4, of which 1 are missing");
  EXPECT_EQ(judged_set({4, 1, 0, 2, 2}), "5 rows instead of 4, of which 0 are missing");
  EXPECT_EQ(judged_set({4, 1, 0, 7}), "4 rows instead of 4, of which 1 are missing");
  EXPECT_EQ(judged_set({4, 1, 0, -1}), "4 rows instead of 4, of which 1 are missing");
}

TEST(JudgeOfTopK, KeepsAReferenceForLesserK) {
  const TopKCase data(7, {{5, 3, 5, 5, 1, 5, 9}}, {KeyWidth::bytes4});
  KeptReference kept;
  const auto fault_of = [&](std::size_t k, TieRule ties, const Answer& answer) {
    return judge(data.problem(k, ties), {&answer, 1}, kept).front();
  };
  EXPECT_EQ(fault_of(4, TieRule::first, {4, 1, 0, 2}), "");
  EXPECT_EQ(fault_of(2, TieRule::first, {4, 1}), "");
  EXPECT_EQ(fault_of(2, TieRule::first, {1, 4}), "at place 0 row 1 instead of 4");
  EXPECT_EQ(kept.rows.size(), 4U);
  EXPECT_EQ(fault_of(3, TieRule::last, {4, 1, 5}), "");
  EXPECT_EQ(fault_of(3, TieRule::first, {4, 1, 0}), "");
  EXPECT_EQ(fault_of(6, TieRule::first, {4, 1, 0, 2, 3, 5}), "");
}

TEST(JudgeOfTopK, FindsWhatIsWrong) {
  const TopKCase data(7, {{5, 3, 5, 5, 1, 5, 9}}, {KeyWidth::bytes4});
  const auto first = data.problem(4, TieRule::first);
  EXPECT_EQ(judged(first, {4, 1, 0, 2}), "");
  EXPECT_EQ(judged(first, {4, 1, 0}), "3 rows instead of 4");
  EXPECT_EQ(judged(first, {1, 4, 0, 2}), "at place 0 row 1 instead of 4");
  EXPECT_EQ(judged(first, {4, 1, 0, 3}), "at place 3 row 3 instead of 2");
  EXPECT_EQ(judged(data.problem(4, TieRule::last), {4, 1, 3, 5}), "");
  EXPECT_EQ(judged(data.problem(4, TieRule::all), {4, 1, 0, 2, 3, 5}), "");
  const auto any = data.problem(4, TieRule::any);
  EXPECT_EQ(judged(any, {4, 1, 2, 5}), "");
  EXPECT_EQ(judged(any, {4, 1, 5, 2}), "row 5 comes before row 2");
  EXPECT_EQ(judged(any, {4, 1, 2, 2}), "row 2 comes before row 2");
  EXPECT_EQ(judged(any, {4, 1, 2, 6}), "at place 3 row 6 instead of 2");
  EXPECT_EQ(judged(any, {4, 1, 2, 70}), "at place 3 row 70 instead of 2");
}

TEST(JudgeOfTopK, AgreesWithTheOracle) {
  for (const auto distribution : kernels::tests::kDistributions) {
    for (const auto& widths : {std::vector{KeyWidth::bytes1}, std::vector{KeyWidth::bytes8},
                               std::vector{KeyWidth::bytes2, KeyWidth::bytes4, KeyWidth::bytes1}}) {
      const TopKCase data(200, make_columns(distribution, 200, widths.size(), KeyWidth::bytes8, 3), widths);
      for (const std::size_t k : {0, 1, 100, 199, 200, 300}) {
        for (const TieRule ties : kernels::tests::kTieRules) {
          const auto problem = data.problem(k, ties);
          Answer answer = oracle::topk(problem);
          EXPECT_EQ(judged(problem, answer), "") << name_of(distribution) << " k " << k;
          if (answer.size() < 2) continue;
          std::swap(answer.front(), answer.back());
          EXPECT_NE(judged(problem, answer), "") << name_of(distribution) << " k " << k;
        }
      }
    }
  }
}

}  // namespace
}  // namespace skyrank::bench
