#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <ranges>
#include <string_view>
#include <vector>

#include "kernels/cuda/registry.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// Sizes and data at the limits of cuda-blocked-bitmap's own parts: its prefilter, groups, spans and bitmaps.
namespace skyrank::kernels::tests {
namespace {

class BlockedBitmap : public testing::Test {
 protected:
  void SetUp() override { gpu_testing::require_gpu(cuda::find_devices()); }

  static const SkylineAlgorithm& algorithm() {
    const auto all = cuda::skyline_algorithms();
    return **std::ranges::find(all, std::string_view("cuda-blocked-bitmap"), &SkylineAlgorithm::name);
  }

  /// Expects the oracle's rows where more than `few` rows are left to bitmaps.
  static void expect_oracle(std::size_t n, const std::vector<Values>& columns, KeyWidth width = KeyWidth::bytes4,
                            std::int64_t few = 0) {
    const SkylineCase data(n, columns, width);
    const ParameterValues values(algorithm().parameters, {{"few", few}});
    EXPECT_EQ(algorithm().run(data.problem(), values, {}).rows, oracle::skyline(data.problem())) << "few " << few;
  }

  /// Rows none of which dominates another: the sums of their first two keys are the same.
  static std::vector<Values> staircase(std::size_t n, std::size_t d) {
    std::mt19937_64 engine(n);
    std::vector<Values> columns(d, Values(n));
    for (std::size_t i = 0; i < n; ++i) {
      columns[0][i] = i;
      columns[1][i] = n - i;
      for (std::size_t j = 2; j < d; ++j) columns[j][i] = engine() % n;
    }
    return columns;
  }
};

TEST_F(BlockedBitmap, GroupsAndSpansThatAreFullOrNearly) {
  for (const std::size_t n : {31, 32, 33, 64, 65, 1023, 1024, 1025}) {
    SCOPED_TRACE(n);
    expect_oracle(n, staircase(n, 3));
  }
}

// Rows none of which dominates another, and which share levels by the hundred: all keys of groups are compared at once.
TEST_F(BlockedBitmap, RowsThatShareLevels) {
  for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
    std::vector<Values> columns = staircase(1500, 2);
    columns.insert(columns.begin() + 1, 2, Values(1500, 7));
    expect_oracle(1500, columns, width);
    for (std::size_t i = 0; i < 1500; i += 10) columns[0][i] += 3;  // some are dominated
    expect_oracle(1500, columns, width);
  }
}

// Two columns are sorted and swept: ties in either, equal rows, parts of one block and of several.
TEST_F(BlockedBitmap, TwoColumns) {
  std::mt19937_64 engine(12);
  for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
    for (const std::size_t n : {1, 2, 33, 1024, 1025, 3000}) {
      for (const std::uint64_t values : {1, 3, 40, 100000}) {
        SCOPED_TRACE(testing::Message() << n << " rows of " << values << " values");
        std::vector<Values> columns(2, Values(n));
        for (std::size_t i = 0; i < n; ++i) {
          columns[0][i] = engine() % values;
          columns[1][i] = values - columns[0][i] + engine() % 2;
        }
        expect_oracle(n, columns, width);
      }
    }
  }
}

TEST_F(BlockedBitmap, AsManySurvivorsAsAreFewAndOneMore) {
  for (const std::size_t n : {8192, 8193}) {
    SCOPED_TRACE(n);
    expect_oracle(n, staircase(n, 3), KeyWidth::bytes4, 8192);
  }
}

TEST_F(BlockedBitmap, DimensionsAtTheLimitsOfWordsAndPlanes) {
  Turns turns(3);
  for (const std::size_t d : {1, 4, 5, 6, 7, 10, 11, 16, 17, 24, 25, 31, 32, 33, 36, 37, 40, 41, 63, 64}) {
    for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
      if (turns.skip()) continue;
      SCOPED_TRACE(d);
      for (const std::int64_t few : {0, 8192})
        expect_oracle(200, make_columns(Distribution::anticorrelated, 200, d, width, d), width, few);
    }
  }
}

// Dominance within one code of the z-order, where order says nothing: all rows have the same levels.
TEST_F(BlockedBitmap, RowsThatDominateWithinALevel) {
  std::mt19937_64 engine(3);
  const std::size_t n = 700;
  std::vector<Values> columns(3, Values(n));
  for (Values& column : columns) {
    // Nine keys in ten are equal, so that every threshold is; the others are above.
    std::ranges::generate(column, [&] { return engine() % 10 == 0 ? 1000 + engine() % 50 : 1000; });
  }
  columns[0][n - 1] = 999;
  expect_oracle(n, columns);
}

// Twins that outnumber all else, of rows in and out of the skyline.
TEST_F(BlockedBitmap, TwinsOfEveryRow) {
  std::mt19937_64 engine(4);
  const std::size_t n = 1500;
  std::vector<Values> columns(4, Values(n));
  for (Values& column : columns) {
    for (std::size_t i = 0; i < n; ++i) column[i] = i < 100 ? engine() % 40 : column[i % 100];
  }
  expect_oracle(n, columns);
}

TEST_F(BlockedBitmap, OneRowThatDominatesAllOthers) {
  for (const std::size_t at : {0, 500, 999}) {
    std::vector<Values> columns = make_columns(Distribution::anticorrelated, 1000, 5, KeyWidth::bytes4, 8);
    for (Values& column : columns) column[at] = 0;
    expect_oracle(1000, columns);
  }
}

// Keys at both ends of their range: levels and slopes must not run over.
TEST_F(BlockedBitmap, LeastAndGreatestKeys) {
  std::mt19937_64 engine(6);
  for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
    const std::uint64_t top = width == KeyWidth::bytes4 ? 0xffffffffu : ~std::uint64_t{0};
    std::vector<Values> columns(3, Values(400));
    for (Values& column : columns) {
      std::ranges::generate(column, [&] { return engine() % 3 == 0 ? top - engine() % 2 : engine() % 2; });
    }
    expect_oracle(400, columns, width);
  }
}

}  // namespace
}  // namespace skyrank::kernels::tests
