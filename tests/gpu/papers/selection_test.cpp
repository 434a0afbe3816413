#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/cuda/registry.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/gpu/topk_runs.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// Promises of single selection algorithms of the papers: how much they read and write, and their limits.
namespace skyrank::kernels::tests {
namespace {

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

// Answers without order, as the papers' programs leave them, have the same rows; those that need their order keep it.
TEST_F(SelectionOnGpu, AnswersWithoutOrderHaveTheSameRows) {
  constexpr std::size_t kRows = 2000;
  const auto is_known = [](const TopKAlgorithm& it, std::string_view name, std::int64_t value) {
    return check_parameters(it.parameters, {{std::string(name), value}}).empty();
  };
  const auto sorted = [](const auto& rows) {
    std::vector<RowId> copy(rows.begin(), rows.end());
    std::ranges::sort(copy);
    return copy;
  };
  std::size_t algorithms = 0;
  for (const TopKAlgorithm* const it : cuda::topk_algorithms()) {
    if (!is_known(*it, "ordered", 0)) continue;
    ++algorithms;
    for (const Distribution distribution : {Distribution::independent, Distribution::few_distinct}) {
      const TopKCase data(kRows, make_columns(distribution, kRows, 1, k4, 1), {k4});
      for (const std::size_t k : {std::size_t{1}, std::size_t{100}, kRows / 2, kRows}) {
        const TopKProblem problem = data.problem(k, TieRule::first);
        EXPECT_EQ(sorted(run(*it, problem, {{"ordered", 0}}).rows), sorted(oracle::topk(problem)))
            << it->name << ", k = " << k;
        EXPECT_TRUE(run(*it, problem, {{"ordered", 0}, {"returned", 0}}).rows.empty()) << it->name;
      }
      for (const TieRule ties : {TieRule::last, TieRule::all}) {
        const TopKProblem problem = data.problem(100, ties);
        EXPECT_EQ(run(*it, problem, {{"ordered", 0}}).rows, oracle::topk(problem)) << it->name;
      }
    }
  }
  EXPECT_EQ(algorithms, 9U);
}

// The papers' programs write what a pass keeps, whether or not anything was ruled out.
TEST_F(SelectionOnGpu, NarrowingMayWriteInEveryPass) {
  constexpr std::size_t kRows = 4096;
  const TopKCase equal(kRows, make_columns(Distribution::all_equal, kRows, 1, k4, 1), {k4});
  const Work work =
      run(algorithm_named("cuda-radix-select"), equal.problem(10, TieRule::first), {{"digit_bits", 8}, {"writes", 1}})
          .work;
  // The digits of the keys divide nothing. After the first has been counted, each pass writes all.
  EXPECT_GE(work.bytes_written, 4 * kRows * 8);
  for (const Distribution distribution :
       {Distribution::independent, Distribution::few_distinct, Distribution::extremes}) {
    const TopKCase data(kRows, make_columns(distribution, kRows, 1, k4, 1), {k4});
    for (const std::size_t k : {1, 3000}) {
      const TopKProblem problem = data.problem(k, TieRule::first);
      const auto expected = oracle::topk(problem);
      EXPECT_EQ(run(algorithm_named("cuda-radix-select"), problem, {{"digit_bits", 8}, {"writes", 1}}).rows, expected);
      for (const int buckets : {4, 16}) {
        const Settings settings{{"buckets", buckets}, {"writes", 1}};
        EXPECT_EQ(run(algorithm_named("cuda-bucket-select"), problem, settings).rows, expected) << buckets;
      }
    }
  }
}

TEST_F(SelectionOnGpu, BucketSelectReadsOnceForTheBestRow) {
  constexpr std::size_t kRows = 10'000;
  const TopKCase data(kRows, make_columns(Distribution::independent, kRows, 1, k4, 1), {k4});
  const TopKAlgorithm& algorithm = algorithm_named("cuda-bucket-select");
  EXPECT_EQ(run(algorithm, data.problem(1, TieRule::first)).work.bytes_read, kRows * 4);
  EXPECT_GT(run(algorithm, data.problem(2, TieRule::first)).work.bytes_read, kRows * 4);
}

// The floats from 1 / 4096 to 1, evenly: by their values, each bucket has as many; by their keys, which count 2^23 for
// a power of two, the first has fewest.
TEST_F(SelectionOnGpu, BucketSelectDividesKeysOrValues) {
  constexpr std::size_t kRows = 4096;
  Values keys;
  for (std::size_t i = 1; i <= kRows; ++i) {
    keys.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(i) / kRows) | 1u << 31);
  }
  const TopKCase data(kRows, {keys}, {k4});
  const TopKProblem problem = data.problem(2, TieRule::first);
  const auto candidates = [&](int by_values) {
    const TopKSolution solution =
        run(algorithm_named("cuda-bucket-select"), problem, {{"buckets", 16}, {"by_values", by_values}});
    EXPECT_EQ(solution.rows, oracle::topk(problem));
    return solution.work.candidates;
  };
  EXPECT_EQ(candidates(1), kRows / 16);
  EXPECT_LE(candidates(0), 3);
}

// Each pass takes one of the powers of two away, from the greatest on: far more passes than for other keys.
TEST_F(SelectionOnGpu, BucketSelectEndsOnValuesOfAllMagnitudes) {
  Values floats{0, ~0u, 0xff800000u, 0x007fffffu};  // two NaNs and both infinities
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
    floats.push_back(exponent << 23 | 1u << 31);
    floats.push_back(~(exponent << 23 | 1u << 31));
  }
  Values doubles{0, ~std::uint64_t{0}, 1};
  for (std::uint64_t exponent = 0; exponent < 2047; exponent += 3) {
    doubles.push_back(exponent << 52 | std::uint64_t{1} << 63);
    doubles.push_back(~doubles.back());
  }
  for (const auto& [keys, width] : {std::pair{floats, k4}, std::pair{doubles, k8}}) {
    const TopKCase data(keys.size(), {keys}, {width});
    for (const std::size_t k : {std::size_t{2}, keys.size() / 2, keys.size() - 1}) {
      const TopKProblem problem = data.problem(k, TieRule::first);
      EXPECT_EQ(run(algorithm_named("cuda-bucket-select"), problem, {{"buckets", 16}, {"by_values", 1}}).rows,
                oracle::topk(problem))
          << bits(width) << " bits, k = " << k;
    }
  }
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

TEST_F(SelectionOnGpu, RandomizedSelectionIsRightInAnyGrid) {
  constexpr std::size_t kRows = 20'000;
  for (const KeyWidth width : {k4, k8}) {
    const TopKCase data(kRows, make_columns(Distribution::repeated, kRows, 1, width, 1), {width});
    const TopKProblem problem = data.problem(kRows / 5, TieRule::first);
    for (const int threads : {64, 100, 128, 255}) {
      for (const int keys : {1, 8, 4096}) {
        EXPECT_EQ(
            run(algorithm_named("cuda-randomized"), problem, {{"block_threads", threads}, {"keys_per_thread", keys}})
                .rows,
            oracle::topk(problem))
            << threads << " threads with " << keys << " keys";
      }
    }
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

// Lists of every size, full and not.
TEST_F(SelectionOnGpu, BuildingTheKeyBitByBitReadsAllRowsForEachBit) {
  constexpr std::size_t kRows = 5000;
  const TopKAlgorithm& algorithm = algorithm_named("cuda-bit-by-bit");
  Values keys(kRows);
  for (std::size_t i = 0; i < kRows; ++i) keys[i] = i * 7919 % kRows;
  const TopKCase distinct(kRows, {keys}, {k4});
  // 32 bits, one pass to see that no rows tie at the last place, and one that takes the answer.
  EXPECT_EQ(run(algorithm, distinct.problem(100, TieRule::first)).work.bytes_read, 34 * kRows * 4);
  const TopKCase equal(kRows, make_columns(Distribution::all_equal, kRows, 1, k4, 1), {k4});
  for (const TieRule ties : {TieRule::first, TieRule::last, TieRule::all}) {
    const TopKProblem problem = equal.problem(100, ties);
    const TopKSolution solution = run(algorithm, problem);
    EXPECT_EQ(solution.rows, oracle::topk(problem));
    EXPECT_EQ(solution.work.bytes_read, (34 + 13) * kRows * 4) << "13 bits of row ids";
  }
}

// Far fewer passes than the 32 that halving takes, however few keys are to be left.
TEST_F(SelectionOnGpu, CuttingPlanesEncloseTheKeyInFewPasses) {
  constexpr std::size_t kRows = 20'000;
  const TopKAlgorithm& algorithm = algorithm_named("cuda-cutting-plane");
  for (const Distribution distribution :
       {Distribution::independent, Distribution::repeated, Distribution::descending, Distribution::all_equal}) {
    for (const KeyWidth width : {k4, k8}) {
      const TopKCase data(kRows, make_columns(distribution, kRows, 1, width, 1), {width});
      for (const std::size_t k : {std::size_t{1}, kRows / 2, kRows - 1}) {
        const TopKProblem problem = data.problem(k, TieRule::last);
        const TopKSolution solution = run(algorithm, problem, {{"few", 100}});
        EXPECT_EQ(solution.rows, oracle::topk(problem)) << name_of(distribution) << ", k = " << k;
        EXPECT_LE(solution.work.bytes_read, 25 * kRows * static_cast<std::size_t>(width))
            << name_of(distribution) << ", k = " << k;
      }
    }
  }
}

// Pairs are sorted, and the rows themselves stay.
TEST_F(SelectionOnGpu, ThrustSortsPairs) {
  constexpr std::size_t kRows = 5000;
  const TopKCase data(kRows, make_columns(Distribution::repeated, kRows, 1, k8, 1), {k8});
  for (const TieRule ties : {TieRule::first, TieRule::last, TieRule::all}) {
    const TopKProblem problem = data.problem(700, ties);
    const TopKSolution solution = run(algorithm_named("cuda-thrust-sort"), problem);
    EXPECT_EQ(solution.rows, oracle::topk(problem));
    EXPECT_EQ(solution.work.candidates, kRows);
  }
}

TEST_F(SelectionOnGpu, PerThreadListsInRegistersAreRight) {
  constexpr std::size_t kRows = 5000;
  for (const auto& [distribution, width] : {std::pair{Distribution::independent, k4}, {Distribution::descending, k8}}) {
    const TopKCase data(kRows, make_columns(distribution, kRows, 1, width, 1), {width});
    for (const std::size_t k : {8, 9, 32, 33, 64, 65, 128, 129, 256}) {
      const TopKProblem problem = data.problem(k, TieRule::last);
      EXPECT_EQ(run(algorithm_named("cuda-per-thread-registers"), problem).rows, oracle::topk(problem)) << k;
    }
  }
}

TEST_F(SelectionOnGpu, PerThreadListsNameTheirLimits) {
  const TopKShape wide{.n = 1'000'000, .k = 400, .widths = {k8}, .ties = TieRule::first};
  TopKShape narrow = wide;
  narrow.widths = {k4};
  EXPECT_THAT(algorithm_named("cuda-per-thread").supports(wide).reason, testing::HasSubstr("room for 192"));
  EXPECT_THAT(algorithm_named("cuda-per-thread").supports(narrow).reason, testing::HasSubstr("room for 384"));
  EXPECT_THAT(algorithm_named("cuda-per-thread-registers").supports(narrow).reason, testing::HasSubstr("room for 256"));
}

}  // namespace
}  // namespace skyrank::kernels::tests
