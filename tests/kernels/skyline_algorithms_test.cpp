#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "kernels/common/noted_work.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/kernels/skyline_runs.hpp"
#include "tests/oracle/oracle.hpp"

// Tests the peculiarities of single skyline algorithms and their parts: masks, grids and levels from samples, sums that
// tie, counters, vector targets.
namespace skyrank::kernels::tests {
namespace {

/// Returns the names that this build has algorithms of.
std::vector<std::string> built(std::vector<std::string> names) {
  std::erase_if(names, [](const std::string& name) {
    return std::ranges::find(skyline_algorithms(), name, &SkylineAlgorithm::name) == skyline_algorithms().end();
  });
  return names;
}

/// Returns the vector targets to test: 0, which stands for the best one, and others where the build has several.
std::vector<std::int64_t> vector_targets() {
  std::vector<std::int64_t> targets{0};
#if !defined(HWY_COMPILE_ONLY_STATIC)
  for (const std::int64_t target : {HWY_AVX2, HWY_SCALAR}) {
    if ((hwy::SupportedTargets() & target) != 0) targets.push_back(target);
  }
#endif
  return targets;
}

class SkylineData : public testing::TestWithParam<const SkylineAlgorithm*> {
 protected:
  /// Widths of keys: one under the thread sanitizer, as threads share their work alike for both.
  static std::vector<KeyWidth> widths() {
    if (kThreadSanitized) return {KeyWidth::bytes4};
    return {KeyWidth::bytes4, KeyWidth::bytes8};
  }

  void expect_oracle(const std::vector<Values>& columns) {
    for (const KeyWidth width : widths()) {
      const SkylineCase data(columns.front().size(), columns, width);
      const std::vector<RowId>& expected = answers_.next([&] { return oracle::skyline(data.problem()); });
      if (!GetParam()->supports(shape_of(data.problem()))) continue;
      for (const ParameterValues& values : settings_of(*GetParam())) {
        ASSERT_EQ(GetParam()->run(data.problem(), values, {}).rows, expected);
      }
    }
  }

  SharedAnswers answers_;
};

TEST_P(SkylineData, RowsThatNoSampleSees) {
  // All rows are equal but a few: one that dominates all, or is incomparable to all, or is dominated by all.
  const std::size_t n = 1500;
  for (const std::size_t place : {std::size_t{0}, std::size_t{751}, n - 1}) {
    for (const auto& [first, second] : {std::pair{4, 4}, std::pair{4, 6}, std::pair{6, 6}, std::pair{5, 4}}) {
      std::vector<Values> columns(2, Values(n, 5));
      columns[0][place] = static_cast<std::uint64_t>(first);
      columns[1][place] = static_cast<std::uint64_t>(second);
      expect_oracle(columns);
    }
  }
}

// Rows of few kinds, each many times, in stretches and mixed: what folds equal rows must keep all or none of a kind.
TEST_P(SkylineData, RowsOfFewKinds) {
  std::mt19937_64 engine(9);
  for (const std::size_t kinds : {1, 2, 7, 300}) {
    std::vector<Values> of_kind = make_columns(Distribution::anticorrelated, kinds, 3, KeyWidth::bytes4, kinds);
    for (const bool mixed : {false, true}) {
      const std::size_t n = kSlow ? 900 : 3000;
      std::vector<Values> columns(3, Values(n));
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t kind = mixed ? engine() % kinds : i * kinds / n;
        for (std::size_t j = 0; j < 3; ++j) columns[j][i] = of_kind[j][kind];
      }
      SCOPED_TRACE(std::to_string(kinds) + (mixed ? " kinds, mixed" : " kinds in stretches"));
      expect_oracle(columns);
    }
  }
}

TEST_P(SkylineData, ConstantColumns) {
  for (const std::size_t d : {1, 2, 5, 33, 64}) {
    auto columns = make_columns(Distribution::independent, 1500, std::min<std::size_t>(d, 4), KeyWidth::bytes4, d);
    columns.resize(d, Values(1500, 9));
    std::rotate(columns.begin(), columns.begin() + 1, columns.end());
    expect_oracle(columns);
    expect_oracle(std::vector<Values>(d, Values(300, 0xFFFFFFFF)));
  }
}

TEST_P(SkylineData, TwoValuesAColumn) {
  // The better value is rare, common or in between: quantiles fall together.
  std::mt19937_64 engine(23);
  for (const std::uint64_t percent : {1, 20, 50, 80, 99}) {
    for (const std::size_t d : {2, 8, 20}) {
      std::vector<Values> columns(d, Values(1100));
      for (Values& column : columns) {
        std::ranges::generate(column, [&] { return engine() % 100 < percent ? 3u : 4u; });
      }
      expect_oracle(columns);
    }
  }
}

TEST_P(SkylineData, DominanceWithinOneCell) {
  // More rows than cells of any grid: rows of equal masks and levels dominate each other.
  for (const Distribution distribution :
       {Distribution::independent, Distribution::correlated, Distribution::anticorrelated, Distribution::repeated}) {
    for (const std::size_t d : {1, 2, 3}) {
      SCOPED_TRACE(name_of(distribution) + ", d = " + std::to_string(d));
      expect_oracle(make_columns(distribution, 3000, d, KeyWidth::bytes4, d));
    }
  }
}

TEST_P(SkylineData, SumsThatTie) {
  // Close to a plane of equal sums, on which some rows move up or down by one in a single key.
  std::mt19937_64 engine(29);
  const std::size_t n = 2100;
  std::vector<Values> columns(3, Values(n));
  for (std::size_t i = 0; i < n; ++i) {
    columns[0][i] = engine() % 40;
    columns[1][i] = engine() % 40;
    columns[2][i] = 1000 - columns[0][i] - columns[1][i] + engine() % 2;
  }
  expect_oracle(columns);
}

TEST_P(SkylineData, AStaircaseOfDoublings) {
  std::vector<Values> columns(2, Values(126));
  for (std::size_t i = 0; i < 63; ++i) {
    columns[0][i] = std::uint64_t{1} << i;
    columns[1][i] = std::uint64_t{1} << (62 - i);
    columns[0][i + 63] = columns[0][i] + i % 2;  // every other row of the second half is dominated
    columns[1][i + 63] = columns[1][i];
  }
  const SkylineCase data(126, columns, KeyWidth::bytes8);
  EXPECT_EQ(run(*GetParam(), data.problem()).rows, oracle::skyline(data.problem()));
}

TEST_P(SkylineData, EveryVectorTarget) {
  for (const std::int64_t target : vector_targets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const std::size_t d : {1, 3, 4, 5, 8, 9, 12, 17, 24, 33, 64}) {
      SCOPED_TRACE("target " + std::to_string(target) + ", d = " + std::to_string(d));
      expect_oracle(make_columns(Distribution::anticorrelated, 150, d, KeyWidth::bytes4, d));
      expect_oracle(make_columns(Distribution::few_distinct, 150, d, KeyWidth::bytes4, d));
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

// Sizes at which samples, prefilters and batches do their part; too many rows for the oracle, so against a reference
// that the oracle checks elsewhere.
TEST_P(SkylineData, ManyRows) {
  const std::size_t n = 40'000;
  const auto expect_reference = [&](const std::vector<Values>& columns, KeyWidth width) {
    const SkylineCase data(n, columns, width);
    const std::vector<RowId>& expected = answers_.next([&] {
      const auto rows = run(algorithm("sfs"), data.problem()).rows;
      return std::vector<RowId>(rows.begin(), rows.end());
    });
    if (!GetParam()->supports(shape_of(data.problem()))) return;
    for (const std::int64_t target : vector_targets()) {
      SCOPED_TRACE("target " + std::to_string(target));
      hwy::SetSupportedTargetsForTest(target);
      ASSERT_EQ(run(*GetParam(), data.problem()).rows, expected);
    }
    hwy::SetSupportedTargetsForTest(0);
  };
  for (const auto& [distribution, d] :
       {std::pair{Distribution::independent, 4}, std::pair{Distribution::correlated, 9},
        std::pair{Distribution::anticorrelated, 3}, std::pair{Distribution::few_distinct, 4},
        std::pair{Distribution::repeated, 4}}) {
    SCOPED_TRACE(name_of(distribution) + ", d = " + std::to_string(d));
    const auto columns = make_columns(distribution, n, static_cast<std::size_t>(d), KeyWidth::bytes4, 5);
    for (const KeyWidth width : widths()) expect_reference(columns, width);
  }
}

TEST_P(SkylineData, CountersOfOneThreadRepeat) {
  for (const std::size_t d : {2, 8, 40}) {
    const SkylineCase data = make_case(Distribution::independent, 3000, d);
    if (!GetParam()->supports(shape_of(data.problem()))) continue;
    const Work first = work_of(GetParam()->name, data);
    const Work second = work_of(GetParam()->name, data);
    EXPECT_EQ(first.dominance_tests, second.dominance_tests);
    EXPECT_EQ(first.mask_tests, second.mask_tests);
    EXPECT_EQ(first.candidates, second.candidates);
  }
}

std::vector<const SkylineAlgorithm*> flat_algorithms() {
  auto found = on_cpu(skyline_algorithms());
  std::erase_if(found, [](const auto* it) { return it->supports({.n = 1, .d = 2, .general_order = true}).ok; });
  return found;
}

INSTANTIATE_TEST_SUITE_P(Registry, SkylineData, testing::ValuesIn(flat_algorithms()), TestName{});

// Duplicates meet each other nowhere: the time of these does not grow with the square of their number.
TEST(BlockedBitmap, ManyDuplicates) {
  const std::size_t n = 200'000;
  std::vector<Values> columns(3, Values(n, 7));
  std::vector<RowId> expected(n);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(run(algorithm("blocked-bitmap"), SkylineCase(n, columns, KeyWidth::bytes4).problem()).rows, expected);
  // Three cells that are incomparable, and every ninth row dominated.
  for (std::size_t i = 0; i < n; ++i) {
    columns[0][i] = i % 3;
    columns[1][i] = 2 - i % 3;
    columns[2][i] = i % 9 == 5 ? 8 : 7;
  }
  std::erase_if(expected, [](RowId row) { return row % 9 == 5; });
  EXPECT_EQ(run(algorithm("blocked-bitmap"), SkylineCase(n, columns, KeyWidth::bytes8).problem()).rows, expected);
}

/// Enough for three batches of as many threads, whose first ones have 2,048 rows of one thread, 3,072 of 3 and 8,192 of
/// 8: then two runs of the skyline are merged.
constexpr std::size_t kThreeBatches = kSlow ? 12'000 : 26'000;
const std::vector<int> kThreadsOfBatches = kSlow ? std::vector{3} : std::vector{1, 3, 8};

// Most rows are in the skyline, so that its blocks are put in order anew several times, from runs of several batches
// and by several threads; every fifth row is there twice.
TEST(BlockedBitmap, RunsOfManyBatches) {
  const std::size_t n = kThreeBatches;
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 16);
  for (const std::size_t d : {6, 11}) {
    auto columns = make_columns(Distribution::anticorrelated, n, d, KeyWidth::bytes4, d);
    for (Values& column : columns) {
      for (std::size_t i = 0; i + 4 < n; i += 5) column[i + 4] = column[n - 5 - i];
    }
    for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
      const SkylineCase data(n, columns, width);
      const Vector<RowId> expected = run(algorithm("sfs"), data.problem()).rows;
      EXPECT_GT(2 * expected.size(), n);
      for (const int threads : kThreadsOfBatches) {
        tbb::task_arena arena(threads);
        EXPECT_EQ(arena.execute([&] { return run(algorithm("blocked-bitmap"), data.problem()).rows; }), expected)
            << d << " dimensions, " << threads << " threads";
      }
    }
  }
}

// More dimensions than a row's word has bits for, and few values in each: many rows that differ share a place in
// z-order, in every run of the skyline's.
TEST(BlockedBitmap, ManyRowsInOnePlace) {
  const std::size_t n = kThreeBatches;
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 16);
  for (const std::size_t d : {16, 20, 40}) {
    const SkylineCase data(n, make_columns(Distribution::few_distinct, n, d, KeyWidth::bytes4, d), KeyWidth::bytes4);
    const Vector<RowId> expected = run(algorithm("sfs"), data.problem()).rows;
    for (const int threads : kThreadsOfBatches) {
      tbb::task_arena arena(threads);
      EXPECT_EQ(arena.execute([&] { return run(algorithm("blocked-bitmap"), data.problem()).rows; }), expected)
          << d << " dimensions, " << threads << " threads";
    }
  }
}

// Rows of n dimensions and one mask each: what figure 7 of the paper shows.
TEST(SkylineWork, MasksSaveDominanceTests) {
  for (const Distribution distribution : {Distribution::independent, Distribution::anticorrelated}) {
    const SkylineCase data = make_case(distribution, 8000, 8);
    const Work sfs = work_of("sfs", data);
    EXPECT_EQ(sfs.mask_tests, 0u);
    for (const auto& name : built({"skyalign", "bskytree", "hybrid"})) {
      SCOPED_TRACE(name_of(distribution) + ", " + name);
      const Work work = work_of(name, data);
      EXPECT_GT(work.mask_tests, work.dominance_tests);
      EXPECT_LT(8 * work.dominance_tests, sfs.dominance_tests);
      EXPECT_LT(4 * total(work, 8), total(sfs, 8));
    }
  }
}

// Balanced pivots save tests, by Lee and Hwang.
TEST(SkylineWork, BalancedPivotsSaveTestsOfRandomOnes) {
  for (const auto& name : built({"bskytree"})) {
    const SkylineAlgorithm& bskytree = algorithm(name);
    for (const Distribution distribution : {Distribution::independent, Distribution::anticorrelated}) {
      const SkylineCase data = make_case(distribution, 8000, 8);
      const auto with = [&](std::int64_t random) {
        return bskytree.run(data.problem(), {bskytree.parameters, {{"random_pivots", random}}},
                            {.count_work = true, .stop = {}});
      };
      const SkylineSolution random = with(1);
      EXPECT_EQ(random.rows, with(0).rows);
      EXPECT_GT(random.work.dominance_tests, with(0).work.dominance_tests);
      EXPECT_EQ(random.work.dominance_tests, with(1).work.dominance_tests) << "the same numbers in each run";
    }
  }
}

// A mask settles a cell as a whole without a test of two rows, on CPUs and GPUs alike.
TEST(SkylineWork, CellsAreCountedApart) {
  const SkylineCase data = make_case(Distribution::independent, 8000, 8);
  for (const auto& name : built({"skyalign", "hybrid", "bskytree"})) {
    noted_cell_tests() = 0;
    EXPECT_GT(work_of(name, data).mask_tests, 0u) << name;
    EXPECT_EQ(noted_cell_tests() > 0, name != "bskytree") << name;
    const std::uint64_t counted = noted_cell_tests();
    run(algorithm(name), data.problem());
    EXPECT_EQ(noted_cell_tests(), counted) << name << " counts only when asked";
  }
  // One column has two cells. The row of the first that is in the skyline meets no other cell, and the rows of the
  // second share one test of it.
  Values column(2000);
  std::iota(column.begin(), column.end(), 0u);
  for (const auto& name : built({"skyalign"})) {
    noted_cell_tests() = 0;
    work_of(name, SkylineCase(2000, {column}, KeyWidth::bytes4));
    EXPECT_LE(noted_cell_tests(), 8u) << name;
  }
}

TEST(SkylineWork, PrefilterOfSkyAlignLeavesLittleOfFewDimensions) {
  EXPECT_LT(work_of("skyalign", make_case(Distribution::independent, 20000, 2)).candidates, 2000u);
  EXPECT_LT(work_of("skyalign", make_case(Distribution::correlated, 20000, 8)).candidates, 20000u);
  // Nothing is better than anything: all stay.
  EXPECT_EQ(work_of("skyalign", make_case(Distribution::equal_sums, 2000, 6)).candidates, 2000u);
}

TEST(SkylineWork, EqualRowsAreComparedOnce) {
  const SkylineCase data(20000, std::vector<Values>(3, Values(20000, 7)), KeyWidth::bytes4);
  for (const auto& name : built({"skyalign", "bskytree", "hybrid", "salsa"})) {
    const Work work = work_of(name, data);
    EXPECT_LE(work.dominance_tests + work.mask_tests, 9 * 20000u) << name;
    EXPECT_EQ(run(algorithm(name), data.problem()).rows.size(), 20000u) << name;
  }
}

TEST(BlockedBitmapOnCpu, TwoColumnsInOppositeOrderTakeNoTestsOfPairs) {
  constexpr std::size_t kRows = 30'000;
  std::vector<Values> columns(2, Values(kRows));
  std::iota(columns[0].begin(), columns[0].end(), 7);
  std::ranges::shuffle(columns[0], std::mt19937_64(5));
  std::ranges::transform(columns[0], columns[1].begin(), [](std::uint64_t value) { return 100'000 - value; });
  for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
    const SkylineCase data(kRows, columns, width);
    const SkylineSolution solution = run(algorithm("blocked-bitmap"), data.problem(), {.count_work = true, .stop = {}});
    EXPECT_EQ(solution.rows.size(), kRows);
    // The prefilters' tests, which do not rise with the rows, and one a row.
    EXPECT_LT(solution.work.dominance_tests, 40 * kRows);
  }
}

}  // namespace
}  // namespace skyrank::kernels::tests
