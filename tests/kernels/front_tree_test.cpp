#include "kernels/cpu/fronts/front_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "kernels/common/memory.hpp"

// Tests the tree of a front against a plain list of its rows.
namespace skyrank::kernels::fronts {
namespace {

using Row = std::vector<Lane>;
using Rows = std::map<std::int64_t, Row>;

bool covers(const Row& a, const Row& b) { return std::ranges::equal(a, b, std::less_equal<>()); }

/// Draws rows: few values with many ties, all bits of a key, and a plane where most rows are in the front.
class Draw {
 public:
  Draw(std::uint64_t seed, std::size_t dims) : random_(seed), dims_(dims), kind_(seed % 4) {}

  std::int64_t below(std::int64_t bound) { return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(random_); }

  Row row() {
    constexpr std::int64_t kExtremes[] = {std::numeric_limits<Lane>::min(), -1, 0, std::numeric_limits<Lane>::max()};
    Row row(dims_);
    Lane sum = 0;
    for (Lane& key : row) {
      if (kind_ == 0) key = below(4);
      if (kind_ == 1) key = static_cast<Lane>(random_());
      if (kind_ == 2) key = kExtremes[below(4)];
      if (kind_ == 3) sum += key = below(1 << 20);
    }
    if (kind_ == 3) row[0] -= sum;
    return row;
  }

 private:
  std::mt19937_64 random_;
  std::size_t dims_;
  std::uint64_t kind_;
};

/// Compares the answers of a tree about a row with those of the list.
void expect_same(const FrontTree& tree, const Rows& rows, const Row& row) {
  ASSERT_EQ(tree.size(), rows.size());
  const auto cover = tree.find_cover(row.data());
  const bool is_covered = std::ranges::any_of(rows, [&](const auto& one) { return covers(one.second, row); });
  ASSERT_EQ(cover.has_value(), is_covered);
  FrontTree::Recent recent(tree);
  for (int time = 0; time < 2; ++time) {
    const auto again = tree.find_cover(row.data(), recent);
    ASSERT_EQ(again.has_value(), is_covered);
    if (again) {
      EXPECT_EQ(again->id, cover->id);
    }
  }
  if (cover) {
    const Row& found = rows.at(cover->id);
    EXPECT_TRUE(covers(found, row));
    EXPECT_EQ(cover->is_equal, found == row);
    return;
  }
  std::vector<std::int64_t> ids;
  std::vector<Lane> keys;
  tree.find_dominated(row.data(), ids, keys);
  Rows found;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto first = keys.begin() + static_cast<std::ptrdiff_t>(i * row.size());
    found[ids[i]] = Row(first, first + static_cast<std::ptrdiff_t>(row.size()));
  }
  Rows expected;
  for (const auto& one : rows) {
    if (covers(row, one.second)) expected.insert(one);
  }
  EXPECT_EQ(found, expected);
}

/// Adds a row as a front does, to a tree and to the list.
void add(FrontTree& tree, Rows& rows, const Row& row, std::int64_t id) {
  const auto cover = tree.find_cover(row.data());
  if (cover && !cover->is_equal) return;
  std::vector<std::int64_t> ids;
  std::vector<Lane> keys;
  if (!cover) tree.find_dominated(row.data(), ids, keys);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    tree.erase(keys.data() + i * row.size(), ids[i]);
    rows.erase(ids[i]);
  }
  tree.insert(row.data(), id);
  rows[id] = row;
}

void expect_tree_follows(std::uint64_t seed, std::size_t dims, int steps) {
  Draw draw(seed, dims);
  FrontTree tree(dims);
  Rows rows;
  for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
    const Row row = draw.row();
    expect_same(tree, rows, row);
    add(tree, rows, row, step);
    const bool shrinks = step % 400 > 300;
    for (std::int64_t i = draw.below(shrinks ? 4 : 2); i > 0 && !rows.empty(); --i) {
      auto gone = rows.lower_bound(draw.below(step + 1));
      if (gone == rows.end()) gone = rows.begin();
      tree.erase(gone->second.data(), gone->first);
      rows.erase(gone);
    }
  }
}

TEST(FrontTree, FollowsInsertsAndErases) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_tree_follows(seed, 1 + seed * 7 % 11, 1200);
  }
  expect_tree_follows(3, 64, 600);
}

TEST(FrontTree, ManyRowsHaveManyLevels) {
  Draw draw(3, 3);
  FrontTree tree(3);
  Rows rows;
  for (int i = 0; i < 20'000; ++i) add(tree, rows, draw.row(), i);
  ASSERT_GT(rows.size(), 10'000);
  for (int i = 0; i < 200; ++i) expect_same(tree, rows, draw.row());
  while (rows.size() > 10) {
    tree.erase(rows.begin()->second.data(), rows.begin()->first);
    rows.erase(rows.begin());
    if (rows.size() % 500 == 0) expect_same(tree, rows, draw.row());
  }
  for (int i = 0; i < 20; ++i) expect_same(tree, rows, draw.row());
}

TEST(FrontTree, RecentRowsAreLookedAtFirst) {
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    Draw draw(seed, 3);
    FrontTree tree(3);
    Rows rows;
    for (int i = 0; i < 2000; ++i) add(tree, rows, draw.row(), i);
    FrontTree::Recent recent(tree);
    for (int i = 0; i < 1000; ++i) {
      const Row row = draw.row();
      const auto cover = tree.find_cover(row.data(), recent);
      ASSERT_EQ(cover.has_value(), tree.find_cover(row.data()).has_value());
      if (!cover) continue;
      EXPECT_TRUE(covers(rows.at(cover->id), row));
      EXPECT_EQ(cover->is_equal, rows.at(cover->id) == row);
    }
  }
}

TEST(FrontTree, EqualRowsAreAllKept) {
  FrontTree tree(2);
  const Row row = {5, 7};
  for (std::int64_t id = 0; id < 3000; ++id) tree.insert(row.data(), id);
  const Row better = {5, 6};
  std::vector<std::int64_t> ids;
  std::vector<Lane> keys;
  tree.find_dominated(better.data(), ids, keys);
  std::ranges::sort(ids);
  ASSERT_EQ(ids.size(), 3000);
  EXPECT_EQ(ids[2999], 2999);
  for (const std::int64_t id : ids) tree.erase(row.data(), id);
  EXPECT_EQ(tree.size(), 0);
  EXPECT_FALSE(tree.find_cover(row.data()));
}

TEST(FrontTree, CopiesThatChangeLeaveTheirOrigin) {
  Draw draw(7, 3);
  FrontTree tree(3);
  Rows rows;
  for (int i = 0; i < 3000; ++i) add(tree, rows, draw.row(), i);
  const Rows before = rows;
  FrontTree copy = tree.changed_copy();
  for (int i = 3000; i < 6000; ++i) add(copy, rows, draw.row(), i);
  for (int i = 0; i < 1000; ++i) {
    copy.erase(rows.begin()->second.data(), rows.begin()->first);
    rows.erase(rows.begin());
  }
  for (int i = 0; i < 100; ++i) {
    const Row row = draw.row();
    expect_same(tree, before, row);
    expect_same(copy, rows, row);
  }
}

TEST(FrontTree, MemoryIsCountedAndRefused) {
  const auto account = std::make_shared<MemoryAccount>(std::size_t{1} << 18);
  {
    const AccountScope scope(account.get());
    Draw draw(3, 3);
    FrontTree tree(3);
    Rows rows;
    EXPECT_THROW(
        for (int i = 0; i < 100'000; ++i) {
          const Row row = draw.row();
          tree.insert(row.data(), i);
          rows[i] = row;
        },
        OverLimit);
    ASSERT_GT(rows.size(), 1000);
    EXPECT_EQ(tree.size(), rows.size());
    for (const auto& [id, row] : rows) {  // all of them are there
      const auto cover = tree.find_cover(row.data());
      ASSERT_TRUE(cover);
    }
  }
  EXPECT_EQ(account->used(), 0);
}

}  // namespace
}  // namespace skyrank::kernels::fronts
