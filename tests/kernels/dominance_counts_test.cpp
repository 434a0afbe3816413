#include "kernels/cpu/dominance_counts/dominance_counts.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "tests/build.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/oracle/oracle.hpp"

// Numbers of dominators and of dominated rows, against the definition.
namespace skyrank::kernels {
namespace {

using tests::Values;

/// Columns of values below `values`; of so many rows that there are equal ones.
std::vector<Values> drawn_columns(std::size_t n, std::size_t d, std::uint64_t values, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Values> columns(d, Values(n));
  for (Values& column : columns) {
    for (std::uint64_t& key : column) key = values == 0 ? random() : random() % values;
  }
  return columns;
}

DominanceCounts counted(const DominanceCountsProblem& problem, bool dominators, int threads) {
  tbb::task_arena arena(threads);
  return arena.execute([&] { return dominators ? count_dominators(problem, {}) : count_dominated(problem, {}); });
}

/// Returns the first of the rows that are equal to each row.
std::vector<std::size_t> firsts_of_equal(const std::vector<Values>& columns, std::size_t n) {
  std::vector<std::size_t> firsts(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto equals = [&](std::size_t j) {
      return std::ranges::all_of(columns, [&](const Values& column) { return column[i] == column[j]; });
    };
    while (!equals(firsts[i])) ++firsts[i];
  }
  return firsts;
}

void expect_counts(const std::vector<Values>& columns, std::size_t n, KeyWidth width, int threads) {
  const tests::SkylineCase test(n, columns, width);
  const auto dominates = oracle::dominance(test.problem());
  const std::vector<std::size_t> firsts = firsts_of_equal(columns, n);
  for (const bool distinct : {false, true}) {
    std::vector<std::int64_t> dominators(n);
    std::vector<std::int64_t> dominated(n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (distinct && firsts[j] != j) continue;
        dominators[i] += dominates(j, i) ? 1 : 0;
        dominated[i] += dominates(i, j) ? 1 : 0;
      }
    }
    const DominanceCountsProblem problem{.n = n, .keys = test.problem().keys, .distinct = distinct};
    EXPECT_TRUE(std::ranges::equal(counted(problem, true, threads).counts, dominators));
    EXPECT_TRUE(std::ranges::equal(counted(problem, false, threads).counts, dominated));
    std::vector<std::uint8_t> some(n);
    for (std::size_t i = 0; i < n; i += 3) some[i] = 1;
    DominanceCountsProblem wanted = problem;
    wanted.wanted = some;
    const DominanceCounts few_dominators = counted(wanted, true, threads);
    const DominanceCounts few_dominated = counted(wanted, false, threads);
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < n; i += 3) rows.push_back(static_cast<std::int64_t>(i));
    const Vector<std::int64_t> listed = count_dominated_by(problem, rows, {}).counts;
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(listed[i], dominated[3 * i]);
    for (std::size_t i = 0; i < n; i += 3) {
      EXPECT_EQ(few_dominators.counts[i], dominators[i]);
      EXPECT_EQ(few_dominated.counts[i], dominated[i]);
    }
    for (const std::int64_t enough : {1, 2, 7}) {
      std::vector<std::int64_t> cut = dominators;
      for (std::int64_t& count : cut) count = std::min(count, enough);
      const DominanceCountsProblem few{.n = n, .keys = test.problem().keys, .enough = enough, .distinct = distinct};
      EXPECT_TRUE(std::ranges::equal(counted(few, true, threads).counts, cut)) << "enough " << enough;
    }
  }
}

TEST(DominanceCounts, AsDefined) {
  for (std::size_t d = 1; d <= 8; ++d) {
    for (const std::size_t n : {1u, 2u, 17u, 90u}) {
      for (const std::uint64_t values : {0u, 1u, 3u, 12u}) {
        for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
          SCOPED_TRACE("n " + std::to_string(n) + ", d " + std::to_string(d) + ", values " + std::to_string(values) +
                       ", bits " + std::to_string(bits(width)));
          expect_counts(drawn_columns(n, d, values, static_cast<unsigned>(n + d)), n, width, 2);
        }
      }
    }
  }
}

TEST(DominanceCounts, ManyRowsOnAnyNumberOfThreads) {
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 8);
  const std::size_t n = skyrank::tests::kSlow ? 2100 : 3000;  // more than a block
  for (const std::size_t d : {2u, 3u, 4u}) {
    SCOPED_TRACE("d " + std::to_string(d));
    for (const int threads : skyrank::tests::thread_counts({1, 2, 8})) {
      expect_counts(drawn_columns(n, d, 40, 3), n, KeyWidth::bytes8, threads);
    }
  }
}

/// Counts of a few of many rows, row by row.
void expect_some_counts(const std::vector<Values>& columns, std::size_t n, KeyWidth width, int threads) {
  const tests::SkylineCase test(n, columns, width);
  const auto dominates = oracle::dominance(test.problem());
  const DominanceCountsProblem problem{.n = n, .keys = test.problem().keys};
  const DominanceCounts dominators = counted(problem, true, threads);
  const DominanceCounts dominated = counted(problem, false, threads);
  for (std::size_t i = 0; i < n; i += 1 + n / 60) {
    std::int64_t above = 0;
    std::int64_t below = 0;
    for (std::size_t j = 0; j < n; ++j) {
      above += dominates(j, i) ? 1 : 0;
      below += dominates(i, j) ? 1 : 0;
    }
    ASSERT_EQ(dominators.counts[i], above) << "row " << i;
    ASSERT_EQ(dominated.counts[i], below) << "row " << i;
  }
  // A handful and a few of many rows take other paths, and so do many of them.
  for (const std::size_t step : {n, n / 20 + 1, n / 60 + 1, std::size_t{9}, std::size_t{2}}) {
    std::vector<std::uint8_t> wanted(n);
    for (std::size_t i = 0; i < n; i += step) wanted[i] = 1;
    DominanceCountsProblem of_some = problem;
    of_some.wanted = wanted;
    const DominanceCounts some_dominators = counted(of_some, true, threads);
    const DominanceCounts some_dominated = counted(of_some, false, threads);
    std::vector<std::int64_t> rows;
    for (std::size_t i = n; i-- > 0;) {
      if (wanted[i] != 0) rows.push_back(static_cast<std::int64_t>(i));
    }
    tbb::task_arena arena(threads);
    const DominanceCounts listed = arena.execute([&] { return count_dominated_by(problem, rows, {}); });
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(listed.counts[i], dominated.counts[static_cast<std::size_t>(rows[i])]) << "row " << rows[i];
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (wanted[i] == 0) continue;
      ASSERT_EQ(some_dominators.counts[i], dominators.counts[i]) << "row " << i;
      ASSERT_EQ(some_dominated.counts[i], dominated.counts[i]) << "row " << i;
    }
  }
}

TEST(DominanceCounts, OfManyRows) {
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 8);
  constexpr KeyWidth kWidths[] = {KeyWidth::bytes4, KeyWidth::bytes8};
  unsigned seed = 1;
  for (const std::size_t n : {999u, 1000u, 1001u, 1999u, 2001u, skyrank::tests::kSlow ? 4'011u : 20'011u}) {
    for (const std::size_t d : {1u, 3u, 4u, 5u, 9u}) {
      for (const std::uint64_t values : {0u, 2u, 9u, 3000u}) {
        ++seed;
        const unsigned turn = seed + seed / 4;  // else each number of values would have its own width
        for (const KeyWidth width : kWidths) {
          if (skyrank::tests::kSlow && width != kWidths[turn % 2]) continue;
          SCOPED_TRACE("n " + std::to_string(n) + ", d " + std::to_string(d) + ", values " + std::to_string(values) +
                       ", bits " + std::to_string(bits(width)));
          const int threads = skyrank::tests::kThreadSanitized || turn / 2 % 2 == 0 ? 8 : 1;
          expect_some_counts(drawn_columns(n, d, values, seed), n, width, threads);
        }
      }
    }
  }
}

/// Keys that go with each other and against each other, keys of one value, and rows in order.
TEST(DominanceCounts, OfManyOtherRows) {
  const std::size_t n = 17'500;
  const std::vector<Values> drawn = drawn_columns(n, 4, 1'000'000, 3);
  std::vector<std::vector<Values>> cases(5, drawn);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t noise = drawn[3][i] % 1000;
    cases[0][1][i] = drawn[0][i] + noise;              // along
    cases[1][1][i] = 2'000'000 - drawn[0][i] + noise;  // against
    cases[2][1][i] = cases[2][2][i] = 7;
    cases[3][0][i] = cases[3][2][i] = i / 3;
    for (Values& column : cases[4]) column[i] = n - i;
  }
  for (const std::vector<Values>& columns : cases) {
    SCOPED_TRACE("case " + std::to_string(&columns - cases.data()));
    expect_some_counts(columns, n, KeyWidth::bytes8, 2);
  }
}

/// Skybands of many rows, most of which a sample leaves out, against counts without a limit.
TEST(DominanceCounts, SkybandsOfManyRows) {
  const std::size_t n = 20'000;
  for (const std::size_t d : {1u, 2u, 3u, 5u}) {
    for (const std::uint64_t values : {0u, 7u, 5000u}) {
      for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
        const tests::SkylineCase test(n, drawn_columns(n, d, values, static_cast<unsigned>(d)), width);
        for (const bool distinct : {false, true}) {
          DominanceCountsProblem problem{.n = n, .keys = test.problem().keys, .distinct = distinct};
          const DominanceCounts all = counted(problem, true, 2);
          std::vector<std::int64_t> expected(all.counts.begin(), all.counts.end());
          problem.enough = 5;
          for (std::int64_t& count : expected) count = std::min(count, problem.enough);
          EXPECT_TRUE(std::ranges::equal(counted(problem, true, 2).counts, expected))
              << "d " << d << ", values " << values << ", bits " << bits(width) << ", distinct " << distinct;
        }
      }
    }
  }
}

/// Wanted rows of many tiles, ranges of rows that end anywhere, keys far apart and keys at both ends of their range.
TEST(DominanceCounts, OfFewOfManyRows) {
  const std::size_t n = 40'001;
  for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
    std::vector<Values> columns = drawn_columns(n, 3, 0, 8);
    for (std::size_t i = 0; i < n; ++i) {
      columns[1][i] >>= i % 40;  // most are small
      if (i % 5 == 0) columns[2][i] = ~std::uint64_t{0};
      if (i % 7 == 0) columns[0][i] = 0;
    }
    const tests::SkylineCase test(n, columns, width);
    const DominanceCountsProblem problem{.n = n, .keys = test.problem().keys};
    const DominanceCounts all = count_dominated(problem, {});
    for (const std::size_t step : {std::size_t{2}, std::size_t{20}, std::size_t{700}, n}) {
      std::vector<std::int64_t> rows;
      for (std::size_t i = 0; i < n; i += step) rows.push_back(static_cast<std::int64_t>(i));
      const DominanceCounts few = count_dominated_by(problem, rows, {});
      for (std::size_t i = 0; i < rows.size(); ++i) {
        ASSERT_EQ(few.counts[i], all.counts[static_cast<std::size_t>(rows[i])])
            << "row " << rows[i] << ", step " << step;
      }
    }
  }
  EXPECT_TRUE(count_dominated_by({.n = 0, .keys = {}}, {}, {}).counts.empty());
}

TEST(DominanceCounts, CountsWork) {
  const tests::SkylineCase test(500, drawn_columns(500, 3, 0, 5), KeyWidth::bytes4);
  const DominanceCountsProblem problem{.n = 500, .keys = test.problem().keys};
  EXPECT_GT(count_dominators(problem, {.count_work = true, .stop = {}}).work.dominance_tests, 0u);
  EXPECT_EQ(count_dominators(problem, {}).work.dominance_tests, 0u);
  const tests::SkylineCase large(3000, drawn_columns(3000, 3, 0, 5), KeyWidth::bytes4);
  const DominanceCountsProblem halved{.n = 3000, .keys = large.problem().keys};
  const std::uint64_t tests = count_dominators(halved, {.count_work = true, .stop = {}}).work.dominance_tests;
  EXPECT_GT(tests, 0u);
  EXPECT_LT(tests, 3000u * 3000u / 2);  // fewer than pairs of rows
}

TEST(DominanceCounts, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  for (const auto& [n, d] : {std::pair(100, 1), std::pair(100, 2), std::pair(100, 4), std::pair(30'000, 3)}) {
    const auto rows = static_cast<std::size_t>(n);
    const tests::SkylineCase test(rows, drawn_columns(rows, static_cast<std::size_t>(d), 0, 5), KeyWidth::bytes4);
    const DominanceCountsProblem problem{.n = rows, .keys = test.problem().keys};
    const Context context{.count_work = false, .stop = stop.get_token()};
    EXPECT_THROW(count_dominators(problem, context), Cancelled);
    EXPECT_THROW(count_dominated(problem, context), Cancelled);
    const std::vector<std::int64_t> row = {0};
    EXPECT_THROW(count_dominated_by(problem, row, context), Cancelled);
  }
}

}  // namespace
}  // namespace skyrank::kernels
