#include "planner/dominance_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>

namespace skyrank::planner {
namespace {

using kernels::KeyColumn;
using kernels::KeyWidth;
using Rows = std::vector<std::vector<std::uint64_t>>;  // of keys

/// Columns of a width, with the rows' keys cut to it.
template <class Key>
DominanceCounts dominators_of(const Rows& rows) {
  std::vector<std::vector<Key>> keys(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) keys[c].push_back(static_cast<Key>(row[c]));
  }
  std::vector<KeyColumn> columns;
  for (const auto& column : keys) columns.push_back({column.data(), static_cast<KeyWidth>(sizeof(Key))});
  return count_dominance({.n = rows.size(), .keys = columns, .order = {}}, 8);
}

bool dominates(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  for (std::size_t c = 0; c < a.size(); ++c) {
    if (a[c] > b[c]) return false;
  }
  return a != b;
}

std::vector<std::uint32_t> count_dominators(const Rows& rows) {
  std::vector<std::uint32_t> counts;
  for (const auto& row : rows) {
    counts.push_back(static_cast<std::uint32_t>(
        std::ranges::count_if(rows, [&](const auto& other) { return dominates(other, row); })));
  }
  return counts;
}

Rows random_rows(std::size_t n, std::size_t d, std::uint64_t keys) {
  std::mt19937_64 random(n * d + keys);
  Rows rows(n, std::vector<std::uint64_t>(d));
  for (auto& row : rows) {
    for (std::uint64_t& key : row) key = random() % keys;
  }
  return rows;
}

TEST(DominanceCounts, AreThoseOfAllPairs) {
  for (const std::size_t n : {1, 2, 63, 64, 65, 200}) {
    for (const std::size_t d : {1, 2, 5, 9}) {
      for (const std::uint64_t keys : {1, 3, 50, 250}) {
        const Rows rows = random_rows(n, d, keys);
        const std::vector<std::uint32_t> expected = count_dominators(rows);
        EXPECT_EQ(dominators_of<std::uint8_t>(rows).counts, expected) << n << ' ' << d << ' ' << keys;
        EXPECT_EQ(dominators_of<std::uint16_t>(rows).counts, expected) << n << ' ' << d << ' ' << keys;
        EXPECT_EQ(dominators_of<std::uint32_t>(rows).counts, expected) << n << ' ' << d << ' ' << keys;
        EXPECT_EQ(dominators_of<std::uint64_t>(rows).counts, expected) << n << ' ' << d << ' ' << keys;
      }
    }
  }
}

TEST(DominanceCounts, OfKeysThatDifferInTheirHighestBits) {
  Rows rows = random_rows(100, 3, 100);
  for (auto& row : rows) {
    for (std::uint64_t& key : row) key = key << 57 | key;
  }
  EXPECT_EQ(dominators_of<std::uint64_t>(rows).counts, count_dominators(rows));
}

TEST(DominanceCounts, ManyAreOnlyKnownToBeMany) {
  Rows rows;
  for (std::uint64_t i = 0; i < 2000; ++i) rows.push_back({i, i});
  const DominanceCounts found = dominators_of<std::uint32_t>(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(std::min(found.counts[i], 256u), std::min<std::size_t>(i, 256));
  }
  EXPECT_EQ(found.spared, 1u);
  EXPECT_EQ(found.strongest.front(), 0u);
  EXPECT_NEAR(found.skyline_of(500), 1, 0.01);
}

TEST(DominanceCounts, OfRowsInSeveralBlocks) {
  const Rows rows = random_rows(3000, 3, 200);
  std::vector<std::uint32_t> expected = count_dominators(rows);
  std::vector<std::uint32_t> found = dominators_of<std::uint32_t>(rows).counts;
  for (auto* counts : {&expected, &found}) {
    for (std::uint32_t& count : *counts) count = std::min(count, 256u);
  }
  EXPECT_EQ(found, expected);
}

// The mean over random subsets is what skyline_of promises without drawing any.
TEST(DominanceCounts, TellTheSkylinesOfSubsets) {
  const Rows rows = random_rows(400, 4, 1000);
  const DominanceCounts found = dominators_of<std::uint32_t>(rows);
  EXPECT_EQ(found.skyline_of(400), static_cast<double>(std::ranges::count(found.counts, 0u)));
  std::mt19937 random(1);
  for (const std::size_t size : {50, 100, 200}) {
    constexpr int kSubsets = 200;
    double sum = 0;
    for (int i = 0; i < kSubsets; ++i) {
      Rows subset;
      std::ranges::sample(rows, std::back_inserter(subset), static_cast<std::ptrdiff_t>(size), random);
      const auto counts = count_dominators(subset);
      sum += static_cast<double>(std::ranges::count(counts, 0u));
    }
    EXPECT_NEAR(found.skyline_of(static_cast<double>(size)), sum / kSubsets, 0.1 * sum / kSubsets);
  }
}

}  // namespace
}  // namespace skyrank::planner
