#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/common/noted_work.hpp"
#include "kernels/cuda/registry.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/gpu/topk_runs.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// Dr. Top-k with every number of delegates and subranges of every size, and how much work its delegates leave.
namespace skyrank::kernels::tests {
namespace {

class DrTopK : public testing::Test {
 protected:
  void SetUp() override {
    skyrank::gpu_testing::require_gpu(cuda::find_devices());
    for (const TopKAlgorithm* const algorithm : cuda::topk_algorithms()) {
      if (algorithm->name == "cuda-dr-topk") algorithm_ = algorithm;
    }
  }

  TopKSolution run(const TopKProblem& problem, const Settings& settings, bool count_work = false) const {
    return algorithm_->run(problem, {algorithm_->parameters, settings}, {.count_work = count_work, .stop = {}});
  }

  void expect_oracle(const TopKCase& data, std::size_t k, TieRule ties, const Settings& settings) const {
    std::string told = "n = " + std::to_string(data.n) + ", k = " + std::to_string(k);
    for (const auto& [name, value] : settings) told += ", " + name + " = " + std::to_string(value);
    const TopKProblem problem = data.problem(k, ties);
    EXPECT_EQ(run(problem, settings).rows, oracle::topk(problem)) << told;
  }

  const TopKAlgorithm* algorithm_ = nullptr;
};

TEST_F(DrTopK, EverySubrangeSizeAndNumberOfDelegates) {
  constexpr std::size_t kRows = 2500;
  Turns turns(5);
  for (const Distribution distribution : {Distribution::independent, Distribution::few_distinct}) {
    for (const KeyWidth width : {k4, k8}) {
      SCOPED_TRACE(name_of(distribution) + ", bits = " + std::to_string(bits(width)));
      const TopKCase data(kRows, make_columns(distribution, kRows, 1, width, 3), {width});
      for (std::int64_t alpha = 1; alpha <= 11; ++alpha) {
        for (std::int64_t beta = 1; beta <= 4; ++beta) {
          if (turns.skip()) continue;
          expect_oracle(data, 1, TieRule::first, {{"alpha", alpha}, {"beta", beta}});
          expect_oracle(data, 100, TieRule::last, {{"alpha", alpha}, {"beta", beta}});
        }
      }
    }
  }
}

// There are as many delegates as are asked for, one more, one less.
TEST_F(DrTopK, AsManyDelegatesAsRowsAreWanted) {
  constexpr std::size_t kRows = 1000;
  for (const Distribution distribution : {Distribution::independent, Distribution::extremes, Distribution::all_equal}) {
    SCOPED_TRACE(name_of(distribution));
    const TopKCase data(kRows, make_columns(distribution, kRows, 1, k4, 3), {k4});
    for (const std::size_t k : {123, 124, 125, 126, 249, 250, 251}) {
      for (const TieRule ties : {TieRule::first, TieRule::last}) {
        expect_oracle(data, k, ties, {{"alpha", 3}, {"beta", 1}});
        expect_oracle(data, k, ties, {{"alpha", 3}, {"beta", 2}});
      }
    }
  }
}

TEST_F(DrTopK, EveryAssistantInOneBlockAndInMany) {
  Turns turns(4);
  for (const std::size_t n : {3000, 70000}) {
    for (const Distribution distribution : {Distribution::independent, Distribution::few_distinct,
                                            Distribution::all_equal, Distribution::extremes, Distribution::skewed}) {
      for (const KeyWidth width : {k4, k8}) {
        SCOPED_TRACE(name_of(distribution) + ", bits = " + std::to_string(bits(width)));
        const TopKCase data(n, make_columns(distribution, n, 1, width, 3), {width});
        for (std::int64_t assist = 0; assist <= 2; ++assist) {
          if (turns.skip()) continue;
          expect_oracle(data, 1, TieRule::first, {{"alpha", 2}, {"assist", assist}});
          expect_oracle(data, 500, TieRule::last, {{"alpha", 2}, {"assist", assist}});
          expect_oracle(data, n / 3, TieRule::first, {{"assist", assist}});
        }
      }
    }
  }
}

TEST_F(DrTopK, SwitchesLeaveTheAnswerAsItIs) {
  constexpr std::size_t kRows = 2500;
  Turns turns(4);
  for (const Distribution distribution :
       {Distribution::independent, Distribution::few_distinct, Distribution::all_equal, Distribution::ascending}) {
    for (const KeyWidth width : {k4, k8}) {
      SCOPED_TRACE(name_of(distribution) + ", bits = " + std::to_string(bits(width)));
      const TopKCase data(kRows, make_columns(distribution, kRows, 1, width, 3), {width});
      for (std::int64_t alpha = 2; alpha <= 10; ++alpha) {
        for (const std::int64_t filter : {0, 1}) {
          if (turns.skip()) continue;
          const Settings settings = {
              {"alpha", alpha}, {"beta", 1 + alpha % 2}, {"filter", filter}, {"construction", 1}};
          expect_oracle(data, 1, TieRule::first, settings);
          expect_oracle(data, 100, TieRule::last, settings);
        }
      }
    }
  }
}

// Rule 4: subranges of 2^((16 - 8 + constant) / 2) of the 2^16 rows.
TEST_F(DrTopK, TheConstantOfRule4DecidesTheLength) {
  constexpr std::size_t kRows = 65536;
  const TopKCase data(kRows, make_columns(Distribution::independent, kRows, 1, k4, 3), {k4});
  const TopKProblem problem = data.problem(256, TieRule::first);
  const auto delegates = [&](const Settings& settings) {
    noted_stages().clear();
    EXPECT_EQ(run(problem, settings, true).rows, oracle::topk(problem));
    return noted_stages().front().rows;
  };
  EXPECT_EQ(delegates({{"beta", 1}}), kRows / 64);
  EXPECT_EQ(delegates({{"beta", 1}, {"constant", 3}}), kRows / 32);
  EXPECT_EQ(delegates({{"beta", 1}, {"constant", 3}, {"alpha", 7}}), kRows / 128);
}

// Without the filter whole subranges are concatenated.
TEST_F(DrTopK, TellsItsStagesAndTheSizesOfItsVectors) {
  constexpr std::size_t kRows = 65536;
  constexpr std::size_t kLength = 32;
  constexpr std::size_t kWanted = 256;
  const TopKCase data(kRows, make_columns(Distribution::independent, kRows, 1, k4, 3), {k4});
  const TopKProblem problem = data.problem(kWanted, TieRule::first);
  std::size_t candidates[2] = {};
  for (const std::int64_t filter : {0, 1}) {
    noted_stages().clear();
    const TopKSolution solution = run(problem, {{"alpha", 5}, {"beta", 1}, {"filter", filter}}, true);
    const std::vector<StageWork> stages = noted_stages();
    ASSERT_EQ(stages.size(), 4U);
    EXPECT_EQ(stages[0].name, "delegates");
    EXPECT_EQ(stages[0].rows, kRows / kLength);
    EXPECT_EQ(stages[1].name, "first top-k");
    EXPECT_EQ(stages[2].name, "concatenation");
    EXPECT_EQ(stages[2].rows, solution.work.candidates);
    EXPECT_EQ(stages[3].name, "second top-k");
    candidates[filter] = solution.work.candidates;
  }
  EXPECT_GE(candidates[0], kWanted * kLength);
  EXPECT_LE(candidates[1], 2 * kWanted);
  // Without slack the first selection lets through as many delegates as are wanted.
  const TopKSolution exact = run(problem, {{"alpha", 5}, {"beta", 1}, {"filter", 0}, {"slack", 0}}, true);
  EXPECT_EQ(exact.work.candidates, kWanted * kLength);
  EXPECT_EQ(exact.rows, oracle::topk(problem));
  noted_stages().clear();
  EXPECT_EQ(run(problem, {}).rows, oracle::topk(problem));
  EXPECT_TRUE(noted_stages().empty()) << "nothing is noted unless work is counted";
}

// Equal keys are told apart by their rows, so that they are no more candidates than others.
TEST_F(DrTopK, FewCandidatesWhereKeysAreEqualOrInOrder) {
  constexpr std::size_t kRows = 65536;
  constexpr std::size_t kWanted = 256;
  constexpr std::size_t kLength = 32;
  for (const Distribution distribution :
       {Distribution::all_equal, Distribution::ascending, Distribution::descending, Distribution::independent}) {
    const TopKCase data(kRows, make_columns(distribution, kRows, 1, k4, 3), {k4});
    for (const TieRule ties : {TieRule::first, TieRule::last}) {
      for (std::int64_t beta = 1; beta <= 4; ++beta) {
        const TopKProblem problem = data.problem(kWanted, ties);
        const TopKSolution solution = run(problem, {{"alpha", 5}, {"beta", beta}}, true);
        EXPECT_EQ(solution.rows, oracle::topk(problem));
        EXPECT_GE(solution.work.candidates, kWanted);
        EXPECT_LE(solution.work.candidates, 4 * (kWanted + kLength)) << name_of(distribution) << ", beta = " << beta;
      }
    }
  }
}

// No subrange has more than one of the best: delegates are the answer, and nothing is read again.
TEST_F(DrTopK, SkipsConcatenationWhereDelegatesSuffice) {
  constexpr std::size_t kRows = 65536;
  constexpr std::size_t kLength = 32;
  constexpr std::size_t kWanted = 15;  // few enough for an exact bound
  Values keys(kRows);
  for (std::size_t row = 0; row < kRows; ++row) keys[row] = row % kLength == 7 ? row / kLength : 1000000 + row;
  const TopKCase data(kRows, {keys}, {k4});
  const TopKProblem problem = data.problem(kWanted, TieRule::first);
  const Work once = run(problem, {{"alpha", 5}, {"beta", 2}}, true).work;
  EXPECT_EQ(once.candidates, kWanted);
  const Work again = run(problem, {{"alpha", 5}, {"beta", 1}}, true).work;
  EXPECT_EQ(again.candidates, kWanted);
  const std::size_t delegates = kRows / kLength * sizeof(std::uint64_t);
  EXPECT_EQ(once.bytes_written, 2 * delegates + 2 * kWanted * sizeof(std::uint64_t));
  EXPECT_EQ(again.bytes_written, delegates + 2 * kWanted * sizeof(std::uint64_t));
}

}  // namespace
}  // namespace skyrank::kernels::tests
