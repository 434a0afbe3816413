#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "kernels/common/noted_work.hpp"
#include "kernels/cuda/registry.hpp"
#include "kernels/cuda/skyline/sampled_row.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/problems.hpp"

// Compares the counts of cuda-skyalign with those of a sequential program of its paper's Algorithm 1.
namespace skyrank::kernels::tests {
namespace {

using SkyAlignCounts = skyrank::gpu_testing::GpuTest;
using Row = std::vector<std::uint64_t>;

/// A row and its masks.
struct Point {
  Row keys;
  std::uint32_t median = 0;
  std::uint32_t quartile = 0;
  bool dominated = false;
};

bool dominates(const Row& a, const Row& b) {
  bool better = false;
  for (std::size_t c = 0; c < a.size(); ++c) {
    if (a[c] > b[c]) return false;
    better = better || a[c] < b[c];
  }
  return better;
}

/// The keys of rank tau, ranks being those of keys in a sample of their column.
Row corner_of(const std::vector<Row>& rows) {
  constexpr std::uint32_t kRanks = 1024;
  const std::size_t d = rows.front().size();
  const auto n = static_cast<std::uint32_t>(rows.size());
  std::vector<Row> samples(d);
  for (std::size_t c = 0; c < d; ++c) {
    for (std::uint32_t i = 0; i < kRanks; ++i) samples[c].push_back(rows[cuda::skyline::sampled_row(n, i, kRanks)][c]);
    std::ranges::sort(samples[c]);
  }
  const auto rank = [&](std::size_t c, std::uint64_t key) {
    return static_cast<std::size_t>(std::ranges::lower_bound(samples[c], key) - samples[c].begin());
  };
  std::size_t tau = kRanks;
  for (const Row& row : rows) {
    std::size_t greatest = 0;
    for (std::size_t c = 0; c < d; ++c) greatest = std::max(greatest, rank(c, row[c]));
    tau = std::min(tau, greatest);
  }
  Row corner(d, ~std::uint64_t{0});
  for (std::size_t c = 0; c < d && tau < kRanks; ++c) corner[c] = samples[c][tau];
  return corner;
}

/// Lines 1 to 10: what the prefilter leaves, in the order of cells.
std::vector<Point> ordered(const std::vector<Row>& rows) {
  const std::size_t d = rows.front().size();
  const Row corner = corner_of(rows);
  std::vector<Point> points;
  for (const Row& row : rows) {
    bool spared = false;
    for (std::size_t c = 0; c < d; ++c) spared = spared || row[c] <= corner[c];
    if (spared) points.push_back({row});
  }
  for (std::size_t c = 0; c < d; ++c) {
    Row column;
    for (const Point& point : points) column.push_back(point.keys[c]);
    std::ranges::sort(column);
    const auto quartile = [&](std::size_t i) { return column[i * column.size() / 4]; };
    for (Point& point : points) {
      const bool above = point.keys[c] > quartile(2);
      const bool upper = point.keys[c] > quartile(above ? 3 : 1);
      point.median |= static_cast<std::uint32_t>(above) << c;
      point.quartile |= static_cast<std::uint32_t>(upper) << c;
    }
  }
  std::ranges::stable_sort(points, {}, [](const Point& p) { return std::pair(std::popcount(p.median), p.median); });
  return points;
}

struct Counts : Work {
  std::uint64_t cell_tests = 0;  ///< line 15: tests of a row's median mask with those of cells
};

/// Lines 13 to 24 for one row and one level.
void walk(Point& row, const std::vector<Point>& points, int level, Counts& work) {
  const Point* before = nullptr;
  for (const Point& other : points) {
    if (std::popcount(other.median) != level) continue;
    const bool first_of_cell = before == nullptr || before->median != other.median;
    before = &other;
    if (first_of_cell && std::popcount(row.median) > level) ++work.cell_tests;
    const bool own = other.median == row.median;
    const bool open = std::popcount(row.median) == level ? own : (other.median | row.median) == row.median;
    if (!open) continue;
    ++work.mask_tests;
    if ((((other.median | ~row.median) & other.quartile) | row.quartile) != row.quartile) continue;
    ++work.dominance_tests;
    if (!dominates(other.keys, row.keys)) continue;
    row.dominated = true;
    return;
  }
}

Counts sequential(const std::vector<Row>& rows) {
  Counts work;
  std::vector<Point> points = ordered(rows);
  for (int level = 0; level <= static_cast<int>(rows.front().size()); ++level) {
    for (Point& row : points) walk(row, points, level, work);
    std::erase_if(points, [&](const Point& p) { return p.dominated || std::popcount(p.median) == level; });
  }
  return work;
}

TEST_F(SkyAlignCounts, InOneSliceAreThoseOfASequentialProgram) {
  std::mt19937_64 random(5);
  for (const std::size_t d : {2, 4, 7}) {
    constexpr std::size_t kRows = 2'000;
    std::vector<Values> columns(d, Values(kRows));
    std::vector<Row> rows(kRows, Row(d));
    for (std::size_t c = 0; c < d; ++c) {
      for (std::size_t i = 0; i < kRows; ++i) rows[i][c] = columns[c][i] = random() >> 32;
    }
    const SkylineCase data(kRows, columns, KeyWidth::bytes4);
    const Counts expected = sequential(rows);
    for (const SkylineAlgorithm* const algorithm : cuda::skyline_algorithms()) {
      if (algorithm->name != "cuda-skyalign") continue;
      const auto run = [&](std::map<std::string, std::int64_t, std::less<>> values) {
        return algorithm->run(data.problem(), {algorithm->parameters, std::move(values)},
                              {.count_work = true, .stop = {}});
      };
      noted_cell_tests() = 0;
      const SkylineSolution after = run({{"slices", 1}, {"live", 0}});
      EXPECT_EQ(noted_cell_tests(), expected.cell_tests) << d;
      EXPECT_EQ(after.work.mask_tests, expected.mask_tests) << d;
      EXPECT_EQ(after.work.dominance_tests, expected.dominance_tests) << d;
      const SkylineSolution live = run({{"slices", 1}});
      EXPECT_LE(live.work.dominance_tests, expected.dominance_tests) << d;
      EXPECT_EQ(live.rows, after.rows) << d;
      EXPECT_EQ(run({}).rows, after.rows) << d;
    }
  }
}

/// Work of an algorithm on columns of floats that are all to be low, or of which every other one is to be high.
Work work_of(const SkylineAlgorithm& algorithm, const std::vector<Values>& columns, bool mixed) {
  std::vector<Values> keys = columns;
  for (std::size_t c = 0; c < keys.size(); ++c) {
    for (std::uint64_t& key : keys[c]) {
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(key) / 1e6F) | 1u << 31;
      key = mixed && c % 2 == 1 ? bits - (1u << 31) : bits;  // as keys of negative values are, below those of positive
    }
  }
  const SkylineCase data(keys.front().size(), keys, KeyWidth::bytes4);
  return algorithm.run(data.problem(), {algorithm.parameters, {}}, {.count_work = true, .stop = {}}).work;
}

TEST_F(SkyAlignCounts, DoNotDependOnTheScalesOfColumns) {
  std::mt19937_64 random(6);
  std::vector<Values> columns(5, Values(4'000));
  for (Values& column : columns) {
    for (std::uint64_t& value : column) value = random() % 1'000'000;
  }
  int compared = 0;
  for (const SkylineAlgorithm* const algorithm : cuda::skyline_algorithms()) {
    if (algorithm->name != "cuda-skyalign" && algorithm->name != "cuda-ggs") continue;
    const auto low = static_cast<double>(work_of(*algorithm, columns, false).dominance_tests);
    const auto mixed = static_cast<double>(work_of(*algorithm, columns, true).dominance_tests);
    EXPECT_NEAR(mixed, low, low / 20) << algorithm->name;
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

}  // namespace
}  // namespace skyrank::kernels::tests
