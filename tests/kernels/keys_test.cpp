#include "kernels/common/keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace skyrank::kernels {
namespace {

static_assert(float_key<std::uint32_t>(0x80000000u, false) == float_key<std::uint32_t>(0, false), "zeros are equal");
static_assert(float_key<std::uint64_t>(~0ull, true) == kNanKey<std::uint64_t>, "every NaN is the same");
static_assert(kNanKey<std::uint16_t> < kNullKey<std::uint16_t>, "NULL is worse than NaN");

TEST(FloatKey, InfinitiesAreOrdinaryAndBetterThanNan) {
  for (const bool high : {false, true}) {
    const auto plus = float_key<std::uint16_t>(0x7c00, high);
    const auto minus = float_key<std::uint16_t>(0xfc00, high);
    EXPECT_EQ(plus < minus, high);
    EXPECT_LT(std::max(plus, minus), kNanKey<std::uint16_t>);
  }
}

TEST(IntegerKey, CountsFromTheBestValueOfEveryRange) {
  for (int lowest = -128; lowest <= 127; ++lowest) {
    for (int highest = lowest; highest <= 127; ++highest) {
      const IntegerKey<std::int8_t> low(static_cast<std::int8_t>(lowest), false);
      const IntegerKey<std::int8_t> high(static_cast<std::int8_t>(highest), true);
      for (int value = lowest; value <= highest; ++value) {
        ASSERT_EQ(low(static_cast<std::int8_t>(value)), value - lowest);
        ASSERT_EQ(high(static_cast<std::int8_t>(value)), highest - value);
      }
    }
  }
}

TEST(IntegerKey, FullRangesFit) {
  using Limits = std::numeric_limits<std::int64_t>;
  EXPECT_EQ(IntegerKey<std::int64_t>(Limits::min(), false)(Limits::max()), ~std::uint64_t{0});
  EXPECT_EQ(IntegerKey<std::int64_t>(Limits::max(), true)(Limits::min()), ~std::uint64_t{0});
}

/// The keys of offsets 0 .. n - 1 where those up to `below` lie under the range and those from `above` on over it.
std::vector<std::uint64_t> distance_keys(int n, int below, int above, bool equal_gaps, bool below_first) {
  const int under = below + 1;
  const int over = n - above;
  DistanceKey key;
  key.below = static_cast<std::uint64_t>(std::max(below, 0));
  key.above = static_cast<std::uint64_t>(above);
  key.any_below = under > 0;
  key.any_above = over > 0;
  key.equal_gaps = equal_gaps;
  key.below_first = below_first;
  key.inside = under + over < n ? 1 : 0;
  key.shared = static_cast<std::uint64_t>(std::min(under, over));
  std::vector<std::uint64_t> keys;
  for (int offset = 0; offset < n; ++offset) keys.push_back(key(static_cast<std::uint64_t>(offset)));
  return keys;
}

TEST(DistanceKey, AlternatesBetweenTheSidesUntilOneEnds) {
  using List = std::vector<std::uint64_t>;
  EXPECT_EQ(distance_keys(6, 2, 3, true, false), (List{2, 1, 0, 0, 1, 2}));
  EXPECT_EQ(distance_keys(6, 2, 3, false, true), (List{4, 2, 0, 1, 3, 5}));
  EXPECT_EQ(distance_keys(6, 2, 3, false, false), (List{5, 3, 1, 0, 2, 4}));
  EXPECT_EQ(distance_keys(6, 0, 1, false, true), (List{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(distance_keys(6, 4, 5, false, true), (List{5, 4, 3, 2, 0, 1}));
  EXPECT_EQ(distance_keys(6, 1, 4, true, false), (List{2, 1, 0, 0, 1, 2}));
  EXPECT_EQ(distance_keys(5, -1, 2, true, false), (List{0, 0, 1, 2, 3}));
  EXPECT_EQ(distance_keys(3, 2, 3, true, false), (List{2, 1, 0}));
}

}  // namespace
}  // namespace skyrank::kernels
