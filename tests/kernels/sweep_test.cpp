#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <tuple>

#include "kernels/cpu/skyline/lexicographic.hpp"
#include "kernels/cpu/skyline/staircase.hpp"
#include "tests/build.hpp"
#include "tests/kernels/problems.hpp"
#include "tests/kernels/skyline_runs.hpp"

// The sweep of one to three columns and its parts, with more rows than one thread or one prefilter takes.
namespace skyrank::kernels::tests {
namespace {

using skyrank::tests::kSlow;

const std::vector<int> kThreads = kSlow ? std::vector{3} : std::vector{1, 3, 8};

Vector<RowId> swept(const SkylineCase& data, int threads) {
  tbb::task_arena arena(threads);
  return arena.execute([&] { return run(algorithm("sweep"), data.problem()).rows; });
}

void expect_swept(const std::vector<Values>& columns, const std::vector<RowId>& expected) {
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 16);
  for (const KeyWidth width : {KeyWidth::bytes4, KeyWidth::bytes8}) {
    const SkylineCase data(columns.front().size(), columns, width);
    for (const int threads : kThreads) EXPECT_EQ(swept(data, threads), expected) << threads << " threads";
  }
}

/// Rows whose keys have one sum, so that all are in the skyline; every `spoilt`th one is a copy of the row before it
/// with one key more in some column.
std::vector<Values> plane(std::size_t n, std::size_t d, std::uint64_t range, std::size_t spoilt) {
  std::mt19937_64 engine(n + d);
  std::vector<Values> columns(d, Values(n));
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t left = d * range;
    for (std::size_t j = 0; j + 1 < d; ++j) left -= columns[j][i] = engine() % range;
    columns[d - 1][i] = left;
    if (i % spoilt != spoilt - 1) continue;
    for (Values& column : columns) column[i] = column[i - 1];
    ++columns[engine() % d][i];
  }
  return columns;
}

std::vector<RowId> all_but_every(std::size_t n, std::size_t spoilt) {
  std::vector<RowId> rows(n);
  std::iota(rows.begin(), rows.end(), 0);
  std::erase_if(rows, [&](RowId row) { return static_cast<std::size_t>(row) % spoilt == spoilt - 1; });
  return rows;
}

// Many different rows, and few that are there many times each.
TEST(Sweep, MostRowsAreInTheSkyline) {
  const std::size_t n = kSlow ? 20'000 : 60'000;
  for (const std::size_t d : {2, 3}) {
    for (const std::uint64_t range : {5, 300, 1'000'000}) {
      SCOPED_TRACE(std::to_string(d) + " columns, range " + std::to_string(range));
      expect_swept(plane(n, d, range, 7), all_but_every(n, 7));
    }
  }
}

// A slab of the first key's order may dominate rows of all later slabs.
TEST(Sweep, RowsOfLaterSlabsMeetThoseOfEarlierOnes) {
  const std::size_t n = 50'000;
  std::vector<Values> columns = plane(n, 3, 1'000'000, n + 1);
  columns[0][31'000] = 0;
  columns[1][31'000] = 500'000;
  columns[2][31'000] = 500'000;
  std::vector<RowId> expected;
  for (std::size_t i = 0; i < n; ++i) {
    if (i == 31'000 || columns[1][i] < 500'000 || columns[2][i] < 500'000) expected.push_back(static_cast<RowId>(i));
  }
  EXPECT_LT(expected.size(), n);
  expect_swept(columns, expected);
}

TEST(Sweep, ColumnsOfEqualKeysAreLeftOut) {
  const std::size_t n = 30'000;
  const std::vector<Values> line = plane(n, 2, 1'000'000, 5);
  const Values same(n, 4'000'000'000);
  expect_swept({line[0], same, line[1]}, all_but_every(n, 5));
  expect_swept({same, line[0], line[1]}, all_but_every(n, 5));
  expect_swept({same, same}, all_but_every(n, n + 1));
  const std::uint64_t least = std::ranges::min(line[0]);
  std::vector<RowId> of_least;
  for (std::size_t i = 0; i < n; ++i) {
    if (line[0][i] == least) of_least.push_back(static_cast<RowId>(i));
  }
  expect_swept({same, line[0], line[0]}, of_least);
}

// Two different first keys, so that each half is in order of the other keys alone.
TEST(Sweep, FewDifferentFirstKeys) {
  const std::size_t n = 40'000;
  std::vector<Values> columns = plane(n, 3, 2, n + 1);
  std::iota(columns[1].begin(), columns[1].end(), 0);
  std::ranges::shuffle(columns[1], std::mt19937_64(5));
  std::ranges::transform(columns[1], columns[2].begin(), [](std::uint64_t key) { return n - key; });
  expect_swept(columns, all_but_every(n, n + 1));
}

// Keys that differ in few of their 64 bits, at one end or at both.
TEST(Sweep, KeysFarApart) {
  const std::size_t n = 20'000;
  for (const int shift : {0, 20, 40}) {
    std::vector<Values> columns = plane(n, 3, 1'000'000, 9);
    for (Values& column : columns) {
      for (std::uint64_t& key : column) key = (key + 1) << shift;
    }
    columns[0].push_back(0);
    for (std::size_t j : {1, 2}) columns[j].push_back(~std::uint64_t{0});
    std::vector<RowId> expected = all_but_every(n, 9);
    expected.push_back(n);
    EXPECT_EQ(swept(SkylineCase(n + 1, columns, KeyWidth::bytes8), 2), expected) << shift;
  }
}

TEST(Sweep, WorkGrowsWithTheRowsWhateverIsInTheSkyline) {
  for (const std::size_t d : {2, 3}) {
    for (const std::size_t n : {4'000, 40'000}) {
      const SkylineCase data(n, plane(n, d, 1'000'000, n + 1), KeyWidth::bytes8);
      const Work work = work_of("sweep", data);
      EXPECT_EQ(work.candidates, n);
      // The prefilters' tests, which do not rise with the rows, and one a row.
      EXPECT_LT(work.dominance_tests + work.mask_tests, 40 * n);
    }
  }
}

TEST(Sweep, SupportsThreeColumns) {
  const auto support = [](std::size_t d, bool general) {
    return algorithm("sweep").supports({.n = 10, .d = d, .general_order = general});
  };
  for (const std::size_t d : {1, 2, 3}) EXPECT_TRUE(support(d, false)) << d;
  EXPECT_EQ(support(4, false).reason, "sweeps one to three columns");
  EXPECT_FALSE(support(3, true));
}

TEST(Sweep, StopsOnTheWay) {
  const std::size_t n = 400'000;
  const SkylineCase data(n, plane(n, 3, 1'000'000, n + 1), KeyWidth::bytes8);
  std::stop_source source;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    source.request_stop();
  });
  EXPECT_THROW(run(algorithm("sweep"), data.problem(), {.count_work = false, .stop = source.get_token()}), Cancelled);
  other.join();
}

TEST(LexicographicSort, OrdersByAllColumns) {
  std::mt19937_64 engine(3);
  for (const std::size_t n : {1, 24, 25, 1'000, 40'000}) {
    for (const std::uint64_t range : {1, 3, 1'000, 1'000'000'000}) {
      for (const int shift : {0, 33}) {
        std::vector<Values> columns(2, Values(n));
        for (Values& column : columns) {
          std::ranges::generate(column, [&] { return (engine() % range << shift) + engine() % 2; });
        }
        const std::uint64_t* const keys[] = {columns[0].data(), columns[1].data()};
        const auto sorted = skyline::LexicographicSort<std::uint64_t>(keys, {})(n);
        const auto row = [&](std::size_t i) {
          const std::uint32_t id = skyline::row_of(sorted[i]);
          return std::tuple(columns[0][id], columns[1][id], id);
        };
        for (std::size_t i = 1; i < n; ++i) ASSERT_LT(row(i - 1), row(i)) << "n = " << n << ", range " << range;
      }
    }
  }
}

TEST(BitTree, IsASet) {
  using skyline::BitTree;
  std::mt19937_64 engine(7);
  for (const std::size_t n : {1, 63, 64, 65, 4'096, 5'000, 300'000}) {
    BitTree tree(n);
    std::set<std::size_t> set;
    for (int round = 0; round < 3'000; ++round) {
      const std::size_t i = engine() % n;
      if (round % 3 == 2) {
        const auto member = set.lower_bound(i);
        if (member == set.end()) continue;
        tree.erase(*member);
        set.erase(member);
      } else {
        tree.insert(i);
        set.insert(i);
      }
      const std::size_t at = engine() % n;
      const auto from = set.lower_bound(at);
      const auto after = set.upper_bound(at);
      ASSERT_EQ(tree.at_least(at), from == set.end() ? BitTree::kNone : *from);
      ASSERT_EQ(tree.at_most(at), after == set.begin() ? BitTree::kNone : *std::prev(after));
    }
    EXPECT_EQ(tree.at_least(n), BitTree::kNone);
  }
}

TEST(Staircase, OfTwoIsMerged) {
  using Step = skyline::Step<std::uint32_t>;
  using Steps = skyline::Steps<std::uint32_t>;
  const Steps merged = skyline::merged(Steps{{1, 9}, {4, 5}, {8, 2}}, Steps{{1, 8}, {4, 5}, {6, 6}, {9, 1}});
  const auto same = [](const Step& a, const Step& b) { return a.second == b.second && a.third == b.third; };
  EXPECT_TRUE(std::ranges::equal(merged, Steps{{1, 8}, {4, 5}, {8, 2}, {9, 1}}, same));
  EXPECT_FALSE(skyline::is_above(merged, Step{0, 9}));
  EXPECT_FALSE(skyline::is_above(merged, Step{7, 4}));
  EXPECT_TRUE(skyline::is_above(merged, Step{7, 5}));
}

}  // namespace
}  // namespace skyrank::kernels::tests
