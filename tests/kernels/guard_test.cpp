#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <random>

#include "kernels/common/guard.hpp"
#include "tests/kernels/algorithms.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/kernels/skyline_runs.hpp"
#include "tests/oracle/oracle.hpp"

// Guards end a run at any point; whatever it leaves has the answer.
namespace skyrank::kernels::tests {
namespace {

SkylineSolution run_guarded(std::string_view name, SkylineProblem problem, Guard& guard, int threads = 1) {
  problem.guard = &guard;
  tbb::task_arena arena(threads);
  return arena.execute([&] { return run(algorithm(name), problem); });
}

/// The skyline of the rows that a run has left, by another algorithm.
std::vector<RowId> finish(const SkylineCase& data, const Vector<RowId>& left) {
  std::vector<Values> columns;
  for (const KeyColumn& column : data.problem().keys) {
    Values& values = columns.emplace_back();
    for (const RowId row : left) {
      values.push_back(column.width == KeyWidth::bytes8 ? column.as<std::uint64_t>()[row]
                                                        : column.as<std::uint32_t>()[row]);
    }
  }
  const SkylineCase rest(left.size(), columns, data.problem().keys.front().width, data.order);
  std::vector<RowId> rows;
  for (const RowId row : run(algorithm("sfs"), rest.problem()).rows) rows.push_back(left[row]);
  return rows;
}

void expect_answer_at(std::uint64_t bound, const SkylineCase& data, const std::vector<RowId>& expected, int threads) {
  Guard guard(bound);
  const SkylineSolution solution = run_guarded("bnl", data.problem(), guard, threads);
  ASSERT_TRUE(std::ranges::is_sorted(solution.rows));
  if (solution.complete) {
    ASSERT_EQ(std::vector<RowId>(solution.rows.begin(), solution.rows.end()), expected) << bound;
  } else {
    ASSERT_EQ(finish(data, solution.rows), expected) << "ended after " << bound << " comparisons";
  }
}

TEST(Guard, StrikesBeyondItsBound) {
  Guard guard(10);
  guard.spend(10);
  EXPECT_FALSE(guard.struck());
  EXPECT_EQ(guard.left(), 0u);
  guard.spend(1);
  EXPECT_TRUE(guard.struck());
  EXPECT_EQ(guard.left(), 0u);
  EXPECT_EQ(guard.spent(), 11u);
}

TEST(Guard, MayEndARunAfterAnyComparison) {
  std::mt19937_64 engine(5);
  int ended = 0;
  for (const Distribution distribution : kDistributions) {
    for (const bool tree : {false, true}) {
      const KeyWidth width = tree ? KeyWidth::bytes8 : KeyWidth::bytes4;
      SCOPED_TRACE(name_of(distribution) + (tree ? ", by a tree" : ""));
      const SkylineCase data(90, make_columns(distribution, 90, 4, width, 7), width,
                             tree ? random_order(4, engine) : std::vector<OrderNode>());
      const std::vector<RowId> expected = oracle::skyline(data.problem());
      Guard none(~std::uint64_t{0});
      ASSERT_TRUE(run_guarded("bnl", data.problem(), none).complete);
      for (std::uint64_t bound = 0; bound <= none.spent(); bound += kSlow ? 37 : 1) {
        ASSERT_NO_FATAL_FAILURE(expect_answer_at(bound, data, expected, 1));
        ++ended;
      }
    }
  }
  EXPECT_GT(ended, kSlow ? 100 : 5'000);
}

// Threads have windows of their own, some of which are at an end when others are not, and then are merged.
TEST(Guard, MayEndARunOfManyThreads) {
  std::mt19937_64 engine(6);
  const std::size_t n = 6300;
  for (const Distribution distribution :
       {Distribution::anticorrelated, Distribution::descending, Distribution::repeated, Distribution::independent}) {
    SCOPED_TRACE(name_of(distribution));
    const SkylineCase data(n, make_columns(distribution, n, 3, KeyWidth::bytes4, 3), KeyWidth::bytes4,
                           random_order(3, engine));
    const std::vector<RowId> expected = oracle::skyline(data.problem());
    for (std::uint64_t bound = 0; bound < std::uint64_t{1} << 24; bound = 2 * bound + 1) {
      for (const int threads : {1, 3}) ASSERT_NO_FATAL_FAILURE(expect_answer_at(bound, data, expected, threads));
    }
  }
}

TEST(Guard, StrikesAtTheSamePointInEveryRun) {
  const std::size_t n = 7000;
  const SkylineCase data(n, make_columns(Distribution::anticorrelated, n, 4, KeyWidth::bytes4, 3), KeyWidth::bytes4);
  Guard first(100'000);
  const SkylineSolution expected = run_guarded("bnl", data.problem(), first, 3);
  EXPECT_FALSE(expected.complete);
  for (int round = 0; round < 5; ++round) {
    Guard guard(100'000);
    EXPECT_EQ(run_guarded("bnl", data.problem(), guard, 3).rows, expected.rows);
    EXPECT_EQ(guard.spent(), first.spent());
  }
}

// A row dominates all others, of which none dominates another, and comes last.
TEST(Guard, RowsThatStayUntilALateOneDominatesThemAreFewWhereTheyAreSorted) {
  const std::size_t n = 3000;
  std::vector<Values> columns(4, Values(n, 0));
  for (std::size_t row = 0; row + 1 < n; ++row) {
    columns[0][row] = 1 + row;
    columns[1][row] = n - row;
    columns[2][row] = columns[3][row] = 1;
  }
  const std::vector<OrderNode> order{{OrderNode::Kind::pareto, 1, 3}, {OrderNode::Kind::key, 0, 0},
                                     {OrderNode::Kind::key, 1, 0},    {OrderNode::Kind::prior, 4, 2},
                                     {OrderNode::Kind::key, 2, 0},    {OrderNode::Kind::key, 3, 0}};
  const SkylineCase data(n, columns, KeyWidth::bytes4, order);
  EXPECT_GT(work_of("bnl", data).dominance_tests, n * n / 4);
  EXPECT_LT(work_of("sfs", data).dominance_tests, 2 * n);
  Guard guard(50'000);
  const SkylineSolution solution = run_guarded("bnl", data.problem(), guard);
  EXPECT_FALSE(solution.complete);
  EXPECT_EQ(finish(data, solution.rows), std::vector<RowId>{static_cast<RowId>(n - 1)});
}

}  // namespace
}  // namespace skyrank::kernels::tests
