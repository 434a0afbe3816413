#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kernels/cuda/registry.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// Promises of single selection algorithms of the papers: how much they read and write, and their limits.
namespace skyrank::kernels::tests {
namespace {

constexpr auto k4 = KeyWidth::bytes4;
constexpr auto k8 = KeyWidth::bytes8;

using Settings = std::map<std::string, std::int64_t, std::less<>>;

const TopKAlgorithm& algorithm_named(std::string_view name) {
  for (const TopKAlgorithm* const algorithm : cuda::topk_algorithms()) {
    if (algorithm->name == name) return *algorithm;
  }
  throw std::out_of_range(std::string(name));
}

TopKSolution run(const TopKAlgorithm& algorithm, const TopKProblem& problem, const Settings& settings = {}) {
  return algorithm.run(problem, {algorithm.parameters, settings}, {.count_work = true, .stop = {}});
}

using SelectionOnGpu = skyrank::gpu_testing::GpuTest;

// A digit that all keys share costs a pass that writes nothing.
TEST_F(SelectionOnGpu, RadixSelectWritesOnlyWhatShrinks) {
  constexpr std::size_t kRows = 4096;
  const TopKCase data(kRows, make_columns(Distribution::all_equal, kRows, 1, k4, 1), {k4});
  const Work work =
      run(algorithm_named("cuda-radix-select"), data.problem(10, TieRule::first), {{"digit_bits", 8}}).work;
  // The first four passes divide nothing. The upper digit of 12-bit row ids leaves these, which are written and read.
  constexpr std::size_t kLeft = 16;
  EXPECT_EQ(work.bytes_written, (kLeft + 10) * 8);
  EXPECT_EQ(work.bytes_read, 6 * kRows * 4 + kLeft * 8);
  EXPECT_EQ(work.candidates, kRows);
}

TEST_F(SelectionOnGpu, BucketSelectReadsOnceForTheBestRow) {
  constexpr std::size_t kRows = 10'000;
  const TopKCase data(kRows, make_columns(Distribution::independent, kRows, 1, k4, 1), {k4});
  const TopKAlgorithm& algorithm = algorithm_named("cuda-bucket-select");
  EXPECT_EQ(run(algorithm, data.problem(1, TieRule::first)).work.bytes_read, kRows * 4);
  EXPECT_GT(run(algorithm, data.problem(2, TieRule::first)).work.bytes_read, kRows * 4);
}

// Solves 100 problems with samples of their own.
TEST_F(SelectionOnGpu, RandomizedSelectionIsRightAsOftenAsWished) {
  const TopKAlgorithm& algorithm = algorithm_named("cuda-randomized");
  for (const int wished : {50, 90}) {
    int right = 0;
    for (std::size_t i = 0; i < 100; ++i) {
      const std::size_t n = 3000 + 7 * i;
      const TopKCase data(n, make_columns(Distribution::independent, n, 1, k4, i), {k4});
      const TopKProblem problem = data.problem(n / 3, TieRule::first);
      const TopKSolution solution = run(algorithm, problem, {{"probability", wished}});
      ASSERT_EQ(solution.rows, oracle::topk(problem));
      // One pass that counts and one that saves; then what was saved is read.
      if (solution.work.bytes_read == 2 * n * 4 + 8 * solution.work.candidates) ++right;
    }
    // Four standard deviations below what is wished. Whole buckets hold somewhat more.
    EXPECT_GE(right, wished - 4 * 5) << wished;
    EXPECT_LE(right, wished + 10 + 4 * 5) << wished;
  }
}

// The flag writes the answer alone; overwriting needs a copy of all elements, and writes to it.
TEST_F(SelectionOnGpu, RadixInPlaceReadsAllRowsInEveryPass) {
  constexpr std::size_t kRows = 100'000;
  const TopKCase data(kRows, make_columns(Distribution::independent, kRows, 1, k4, 1), {k4});
  const TopKProblem problem = data.problem(10, TieRule::first);
  const TopKAlgorithm& algorithm = algorithm_named("cuda-radix-in-place");
  const Work flag = run(algorithm, problem).work;
  EXPECT_EQ(flag.bytes_written, 10 * 8);
  EXPECT_EQ(flag.bytes_read % (kRows * 4), 0U);
  EXPECT_GE(flag.bytes_read, 2 * kRows * 4);
  EXPECT_EQ(run(algorithm, problem, {{"overwrite", 1}}).work.bytes_written, 2 * kRows * 8 + 10 * 8);
}

// Other seeds are other samples, of which some need another guess.
TEST_F(SelectionOnGpu, RandomizedSelectionDependsOnItsSeed) {
  constexpr std::size_t kRows = 3000;
  const TopKCase data(kRows, make_columns(Distribution::independent, kRows, 1, k4, 1), {k4});
  const TopKProblem problem = data.problem(kRows / 3, TieRule::first);
  std::set<std::uint64_t> works;
  for (std::int64_t seed = 0; seed < 20; ++seed) {
    const TopKSolution solution =
        run(algorithm_named("cuda-randomized"), problem, {{"probability", 50}, {"seed", seed}});
    EXPECT_EQ(solution.rows, oracle::topk(problem));
    works.insert(solution.work.bytes_read);
  }
  EXPECT_GT(works.size(), 5U);
}

TEST_F(SelectionOnGpu, PerThreadListsNameTheirLimits) {
  const TopKShape wide{.n = 1'000'000, .k = 400, .widths = {k8}, .ties = TieRule::first};
  TopKShape narrow = wide;
  narrow.widths = {k4};
  EXPECT_THAT(algorithm_named("cuda-per-thread").supports(wide).reason, testing::HasSubstr("room for 192"));
  EXPECT_THAT(algorithm_named("cuda-per-thread").supports(narrow).reason, testing::HasSubstr("room for 384"));
  EXPECT_THAT(algorithm_named("cuda-per-thread-registers").supports(narrow).reason, testing::HasSubstr("room for 32"));
}

}  // namespace
}  // namespace skyrank::kernels::tests
