#include "engine/operators/skyline/level_strategy.hpp"

#include <gtest/gtest.h>

namespace skyrank::exec {
namespace {

constexpr int kThreads = 2;

/// Levels of equal size that are taken one by one before the rest is found at once; all of them if it never is.
int levels_before(double rows, double level_rows, double dims, double skyline_seconds, double wanted) {
  LevelStrategy strategy(dims, kThreads, 0);
  int levels = 0;
  for (double left = rows; left > 0 && levels < wanted;) {
    strategy.took_level(left, level_rows, skyline_seconds);
    ++levels;
    left -= level_rows;
    if (left > 0 && strategy.prefers_at_once(left, wanted - levels, std::nullopt)) return levels;
  }
  return levels;
}

TEST(LevelStrategy, ChainsAreFoundAtOnceAfterAFewSkylines) {
  EXPECT_LT(levels_before(1e6, 1, 1, 1e-3, 1e6), 20);
  EXPECT_LT(levels_before(1e6, 1, 5, 20e-3, 1e6), 60);
  EXPECT_LT(levels_before(2e4, 1, 1, 1e-4, 1e6), 10);
}

TEST(LevelStrategy, FewLevelsAreSkylines) {
  EXPECT_EQ(levels_before(1e6, 1e3, 3, 5e-3, 3), 3);
  EXPECT_EQ(levels_before(1e6, 1e3, 1, 5e-3, 2), 2);
  EXPECT_EQ(levels_before(1e6, 1e5, 6, 100e-3, 1e6), 10);  // of many rows each
}

TEST(LevelStrategy, RowsWantedCountAsLevels) {
  LevelStrategy strategy(1, kThreads, 0);
  for (int i = 0; i < 100; ++i) strategy.took_level(1e6, 1000, 1e-3);
  EXPECT_FALSE(strategy.prefers_at_once(9e5, 1, 2000));
  EXPECT_TRUE(strategy.prefers_at_once(9e5, 1, 9e5));
}

TEST(LevelStrategy, NeverBeforeTheFirstLevel) {
  EXPECT_FALSE(LevelStrategy(1, kThreads, 0).prefers_at_once(1e6, 1e6, std::nullopt));
}

}  // namespace
}  // namespace skyrank::exec
