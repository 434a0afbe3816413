#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cuda/registry.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/gpu/topk_runs.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// Selection algorithms where they change their ways: enough rows for several rounds, keys that a round hardly divides,
// guesses that fail.
namespace skyrank::kernels::tests {
namespace {

/// All keys equal but four, each of which is less in another of four digits (Shanbhag et al., SIGMOD 2018, section
/// 6.4).
Values bucket_killer(std::size_t n) {
  Values keys(n, 0x3f800000);
  for (const int digit : {0, 1, 2, 3}) {
    const std::uint64_t one = std::uint64_t{1} << (8 * digit);
    keys[n / 5 * static_cast<std::size_t>(digit + 1)] = 0x3f7f7f7f & ~(0xff * one);
  }
  return keys;
}

using SelectionOnGpu = skyrank::gpu_testing::GpuTest;

TEST_F(SelectionOnGpu, ManyRounds) {
  constexpr std::size_t kRows = tests::kSanitized ? 100'001 : 300'001;
  Turns turns(3);
  std::vector<TopKCase> cases;
  cases.emplace_back(kRows, make_columns(Distribution::independent, kRows, 1, k4, 1), std::vector{k4});
  cases.emplace_back(kRows, make_columns(Distribution::descending, kRows, 1, k8, 1), std::vector{k8});
  cases.emplace_back(kRows, make_columns(Distribution::all_equal, kRows, 1, k8, 1), std::vector{k8});
  cases.emplace_back(kRows, std::vector<Values>{bucket_killer(kRows)}, std::vector{k4});
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const std::size_t k : {1, 8, 30, 300, 40'000}) {
      for (const TieRule ties : {TieRule::first, TieRule::last}) {
        const TopKProblem problem = cases[i].problem(k, ties);
        const std::vector<RowId> expected = oracle::topk(problem);
        for (const TopKAlgorithm* const algorithm : cuda::topk_algorithms()) {
          if (!algorithm->supports(shape_of(problem)) || turns.skip()) continue;
          EXPECT_TRUE(run(*algorithm, problem).rows == expected) << algorithm->name << ", case " << i << ", k = " << k;
        }
      }
    }
  }
}

// Keys of one and two bytes are read as they are where there are many of them.
TEST_F(SelectionOnGpu, NarrowKeys) {
  constexpr std::size_t kRows = kEmulated ? 20'001 : 1'000'003;
  const TopKAlgorithm& algorithm = algorithm_named("cuda-sampled-threshold");
  Turns turns(4);
  for (const KeyWidth width : {KeyWidth::bytes1, KeyWidth::bytes2}) {
    for (const Distribution distribution : kDistributions) {
      const TopKCase data(kRows, make_columns(distribution, kRows, 1, width, 7), {width});
      for (const std::size_t k : {std::size_t{1}, std::size_t{32}, std::size_t{1025}, kRows / 16, kRows - 1}) {
        for (const TieRule ties : {TieRule::first, TieRule::last, TieRule::all}) {
          if (turns.skip()) continue;
          const TopKProblem problem = data.problem(k, ties);
          EXPECT_TRUE(run(algorithm, problem).rows == oracle::topk(problem))
              << name_of(distribution) << ", bits " << bits(width) << ", k = " << k << ", ties "
              << static_cast<int>(ties);
        }
      }
    }
  }
}

// Candidates of so many wanted rows are distributed in two steps.
TEST_F(SelectionOnGpu, ManyWantedRows) {
  constexpr std::size_t kRows = kEmulated ? 60'001 : 9'000'001;
  const TopKAlgorithm& algorithm = algorithm_named("cuda-sampled-threshold");
  for (const KeyWidth width : {k4, k8}) {
    for (const Distribution distribution :
         {Distribution::independent, Distribution::descending, Distribution::all_equal}) {
      const TopKCase data(kRows, make_columns(distribution, kRows, 1, width, 7), {width});
      for (const std::size_t k : {kRows / 24, kRows / 5}) {
        const TopKProblem problem = data.problem(k, TieRule::first);
        EXPECT_TRUE(run(algorithm, problem).rows == oracle::topk(problem)) << name_of(distribution) << ", k = " << k;
      }
    }
  }
}

/// Keys of which the k best lie at `place(i)`, the last of these first, and all others have the top bit set.
template <class Key>
void expect_planted(std::size_t n, std::size_t k, const std::function<std::size_t(std::size_t)>& place) {
  SCOPED_TRACE(std::to_string(k) + " of " + std::to_string(n) + " keys of " + std::to_string(sizeof(Key)) + " bytes");
  std::vector<Key> keys(n);
  constexpr std::uint64_t kTop = std::uint64_t{1} << (8 * sizeof(Key) - 1);
  for (std::size_t i = 0; i < n; ++i) keys[i] = static_cast<Key>(i * 0x9e3779b97f4a7c15 >> 17 | kTop);
  std::vector<RowId> expected(k);
  for (std::size_t i = 0; i < k; ++i) {
    keys[place(i)] = static_cast<Key>(k - 1 - i);
    expected[k - 1 - i] = static_cast<RowId>(place(i));
  }
  const KeyColumn column{keys.data(), static_cast<KeyWidth>(sizeof(Key))};
  const TopKSolution solution = run(algorithm_named("cuda-sampled-threshold"), {.n = n, .keys = {&column, 1}, .k = k});
  EXPECT_EQ(solution.rows, expected);
  EXPECT_LT(solution.work.bytes_read, 2 * n * sizeof(Key)) << "the guess failed";
}

template <class Key>
void expect_planted_anywhere(std::size_t n, std::size_t k) {
  expect_planted<Key>(n, k, [](std::size_t i) { return i; });
  expect_planted<Key>(n, k, [&](std::size_t i) { return n - 1 - i; });
  expect_planted<Key>(n, k, [&](std::size_t i) { return i * (n - 1) / (k - 1); });
}

// On a GPU so many bytes of keys that the best path's scan looks at its first tiles before it knows the threshold.
TEST_F(SelectionOnGpu, FewWantedOfManyRows) {
#if defined(SKYRANK_EMULATED)
  constexpr std::size_t kBytes = std::size_t{1} << 20;
#else
  constexpr std::size_t kBytes = std::size_t{5} << 25;
#endif
  constexpr std::size_t kOdd = 1001;
  expect_planted_anywhere<std::uint8_t>(kBytes + kOdd, 100);
  expect_planted_anywhere<std::uint16_t>(kBytes / 2 + kOdd, 100);
  expect_planted_anywhere<std::uint16_t>(kBytes / 2 + kOdd, 2500);
  expect_planted_anywhere<std::uint32_t>(kBytes / 4 + kOdd, 100);
  expect_planted_anywhere<std::uint32_t>(kBytes / 4 + kOdd, 2500);
  expect_planted_anywhere<std::uint64_t>(kBytes / 8 + kOdd, 100);
  expect_planted_anywhere<std::uint64_t>(kBytes / 8 + kOdd, 2500);
}

}  // namespace
}  // namespace skyrank::kernels::tests
