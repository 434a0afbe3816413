#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/common/keys.hpp"
#include "kernels/common/noted_work.hpp"
#include "kernels/cuda/registry.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// Data that skyline algorithms on a GPU may trip over, in every setting of every one, and what they count.
namespace skyrank::kernels::tests {
namespace {

using SkylineOnGpu = skyrank::gpu_testing::GpuTest;

void expect_oracle_everywhere(const SkylineCase& data, const std::string& what) {
  static Turns turns(5);  // from call to call, so that each sees other settings
  const std::vector<RowId> expected = oracle::skyline(data.problem());
  for (const SkylineAlgorithm* const algorithm : cuda::skyline_algorithms()) {
    if (!algorithm->supports(shape_of(data.problem()))) continue;
    for (const ParameterValues& values : settings_of(*algorithm)) {
      if (turns.skip()) continue;
      EXPECT_EQ(algorithm->run(data.problem(), values, {}).rows, expected)
          << algorithm->name << ", " << what << ", n = " << data.n;
    }
  }
}

/// Random keys below `values`.
std::vector<Values> random_columns(std::size_t n, std::size_t d, std::uint64_t values, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<Values> columns(d, Values(n));
  for (Values& column : columns) {
    for (std::uint64_t& key : column) key = engine() % values;
  }
  return columns;
}

TEST_F(SkylineOnGpu, FewValuesInEachColumn) {
  for (const std::uint64_t values : {1, 2, 3, 5}) {
    for (const std::size_t d : {2, 7}) {
      expect_oracle_everywhere({700, random_columns(700, d, values, d), k4}, std::to_string(values) + " values");
    }
  }
}

// One row of least keys, at the beginning, in the midst and at the end.
TEST_F(SkylineOnGpu, OneRowDominatesAll) {
  for (const std::size_t n : {32, 33, 500}) {
    for (const std::size_t place : {std::size_t{0}, n / 2, n - 1}) {
      std::vector<Values> columns = random_columns(n, 3, 1000, 1);
      for (Values& column : columns) {
        for (std::uint64_t& key : column) ++key;
        column[place] = 0;
      }
      expect_oracle_everywhere({n, columns, k4}, "dominated by row " + std::to_string(place));
    }
  }
}

TEST_F(SkylineOnGpu, NoRowDominatesAnother) {
  for (const std::size_t n : {31, 64, 257, 1025}) {
    std::vector<Values> columns(2, Values(n));
    std::iota(columns[0].begin(), columns[0].end(), 0u);
    std::iota(columns[1].rbegin(), columns[1].rend(), 0u);
    expect_oracle_everywhere({n, columns, k8}, "a staircase");
  }
}

TEST_F(SkylineOnGpu, AConstantColumnTellsNothing) {
  std::vector<Values> columns = random_columns(600, 4, 100, 4);
  columns[1].assign(600, 7);
  columns[3].assign(600, ~std::uint64_t{0});
  expect_oracle_everywhere({600, columns, k4}, "two constant columns");
}

// Keys of NaN and NULL are the two greatest.
TEST_F(SkylineOnGpu, KeysOfNanAndNull) {
  std::mt19937_64 engine(6);
  std::vector<Values> columns(3, Values(600));
  for (Values& column : columns) {
    for (std::uint64_t& key : column) {
      const std::uint64_t kind = engine() % 4;
      key = kind == 0 ? kNanKey<std::uint32_t> : kind == 1 ? kNullKey<std::uint32_t> : 0x80000000u + engine() % 50;
    }
  }
  expect_oracle_everywhere({600, columns, k4}, "NaN and NULL");
}

// A phase of a grid of medians has few rows, one, or a block and one more; and every row in one phase.
TEST_F(SkylineOnGpu, LevelsOfEverySize) {
  for (const std::size_t n : {127, 128, 129, 256, 257}) {
    const auto columns = make_columns(Distribution::anticorrelated, n, 4, k4, n);
    expect_oracle_everywhere({n, columns, k4}, "anticorrelated");
    std::vector<Values> twice(4, Values(2 * n));
    for (std::size_t c = 0; c < 4; ++c) {
      for (std::size_t i = 0; i < 2 * n; ++i) twice[c][i] = columns[c][i / 2];
    }
    expect_oracle_everywhere({2 * n, twice, k4}, "every row twice");
  }
}

TEST_F(SkylineOnGpu, EveryPairOfSettings) {
  const SkylineCase data(900, make_columns(Distribution::independent, 900, 5, k4, 8), k4);
  const std::vector<RowId> expected = oracle::skyline(data.problem());
  for (const SkylineAlgorithm* const algorithm : cuda::skyline_algorithms()) {
    for (const Parameter& a : algorithm->parameters) {
      for (const Parameter& b : algorithm->parameters) {
        if (a.name == b.name) continue;
        const std::map<std::string, std::int64_t, std::less<>> values{{std::string(a.name), a.min},
                                                                      {std::string(b.name), b.max}};
        EXPECT_EQ(algorithm->run(data.problem(), {algorithm->parameters, values}, {}).rows, expected)
            << algorithm->name << ", " << a.name << " least, " << b.name << " greatest";
      }
    }
  }
}

TEST_F(SkylineOnGpu, StagesAddUpToTheWork) {
  const SkylineCase data(900, make_columns(Distribution::independent, 900, 4, k4, 8), k4);
  for (const SkylineAlgorithm* const algorithm : cuda::skyline_algorithms()) {
    const ParameterValues values(algorithm->parameters, {});
    const SkylineSolution counted = algorithm->run(data.problem(), values, {.count_work = true, .stop = {}});
    std::uint64_t dominance_tests = 0;
    std::uint64_t mask_tests = 0;
    for (const StageWork& stage : counted.stages) {
      EXPECT_GE(stage.ms, 0) << algorithm->name;
      dominance_tests += stage.dominance_tests;
      mask_tests += stage.mask_tests;
    }
    EXPECT_FALSE(counted.stages.empty()) << algorithm->name;
    EXPECT_EQ(dominance_tests, counted.work.dominance_tests) << algorithm->name;
    EXPECT_EQ(mask_tests, counted.work.mask_tests) << algorithm->name;
    EXPECT_TRUE(algorithm->run(data.problem(), values, {}).stages.empty()) << algorithm->name;
  }
}

// Pairs of rows counted by hand. The columns are 0 to 7 and its reverse, both with a median of 4: rows 3 and 4 are
// above none, so of cell 00; rows 0 to 2 are of cell 10, rows 5 to 7 of cell 01. Each row meets all of its own cell,
// itself included, and those of the other two cells meet cell 00 before. None is dominated.
TEST_F(SkylineOnGpu, SkyAlignComparesWithinCellsOfALevel) {
  std::vector<Values> columns(2, Values(8));
  std::iota(columns[0].begin(), columns[0].end(), 0u);
  std::iota(columns[1].rbegin(), columns[1].rend(), 0u);
  const SkylineCase data(8, columns, k4);
  for (const SkylineAlgorithm* const algorithm : cuda::skyline_algorithms()) {
    if (algorithm->name != "cuda-skyalign") continue;
    const auto work_with = [&](std::map<std::string, std::int64_t, std::less<>> values) {
      return algorithm
          ->run(data.problem(), {algorithm->parameters, std::move(values)}, {.count_work = true, .stop = {}})
          .work;
    };
    constexpr std::uint64_t kPairs = 2 * 2 + 2 * 3 * 3 + 6 * 2;
    noted_cell_tests() = 0;
    const Work medians_only = work_with({{"quartiles", 0}});
    EXPECT_EQ(medians_only.mask_tests, 0u);
    EXPECT_EQ(noted_cell_tests(), 6u);  // each row of the other two cells against cell 00
    EXPECT_EQ(medians_only.dominance_tests, kPairs);
    const Work both = work_with({});
    EXPECT_EQ(both.mask_tests, kPairs);
    EXPECT_LT(both.dominance_tests, kPairs);
    EXPECT_GE(both.dominance_tests, 8u);
  }
}

}  // namespace
}  // namespace skyrank::kernels::tests
