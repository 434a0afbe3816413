#include "engine/keys/key_cache.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace skyrank::exec {
namespace {

constexpr std::int64_t kRows = 10;  // of 4 bytes each

Keys some_keys(std::uint32_t value) {
  auto owner = std::make_shared<std::vector<std::uint32_t>>(kRows, value);
  return {{owner->data(), kernels::KeyWidth::bytes4}, owner};
}

std::uint32_t first(const std::optional<Keys>& keys) { return keys ? *keys->column.as<std::uint32_t>() : 0; }

class SharedKeysTest : public testing::Test {
 protected:
  KeyedRows all() const { return {table_, ""}; }

  std::shared_ptr<const void> table_ = std::make_shared<const int>(1);
  KeyCache shared_{100};  // room for two columns
};

TEST_F(SharedKeysTest, AreThoseOfTheSameRowsOfTheSameTable) {
  shared_.keep(all(), "low x", some_keys(7), kRows);
  EXPECT_EQ(first(shared_.find(all(), "low x")), 7U);
  EXPECT_FALSE(shared_.find(all(), "high x"));
  EXPECT_FALSE(shared_.find({table_, "x < 1"}, "low x"));
  const std::shared_ptr<const void> other = std::make_shared<const int>(1);
  EXPECT_FALSE(shared_.find({other, ""}, "low x"));
}

TEST_F(SharedKeysTest, TheLeastRecentlyUsedGoFirst) {
  shared_.keep(all(), "a", some_keys(1), kRows);
  shared_.keep(all(), "b", some_keys(2), kRows);
  EXPECT_TRUE(shared_.find(all(), "a"));
  shared_.keep(all(), "c", some_keys(3), kRows);
  EXPECT_EQ(shared_.bytes(), 80U);
  EXPECT_EQ(first(shared_.find(all(), "a")), 1U);
  EXPECT_FALSE(shared_.find(all(), "b"));
  EXPECT_EQ(first(shared_.find(all(), "c")), 3U);
}

TEST_F(SharedKeysTest, WhatIsLargerThanAllRoomIsNotKept) {
  shared_.keep(all(), "a", some_keys(1), kRows);
  shared_.keep(all(), "large", some_keys(2), 26);
  EXPECT_FALSE(shared_.find(all(), "large"));
  EXPECT_EQ(first(shared_.find(all(), "a")), 1U);
}

TEST_F(SharedKeysTest, GoWithTheirTable) {
  shared_.keep(all(), "a", some_keys(1), kRows);
  table_ = std::make_shared<const int>(2);
  EXPECT_FALSE(shared_.find(all(), "a"));
  shared_.keep(all(), "b", some_keys(2), kRows);
  EXPECT_EQ(shared_.bytes(), 40U);
}

TEST_F(SharedKeysTest, AShareMakesKeysOnce) {
  int calls = 0;
  const auto make = [&] {
    ++calls;
    return some_keys(5);
  };
  for (int query = 0; query < 3; ++query) {
    KeyShare share(shared_, all());
    EXPECT_EQ(first(share.get("a", kRows, make)), 5U);
    EXPECT_EQ(share.found(), query == 0 ? 0 : 1);
  }
  EXPECT_EQ(calls, 1);
  KeyShare none;
  EXPECT_EQ(first(none.get("a", kRows, make)), 5U);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace skyrank::exec
