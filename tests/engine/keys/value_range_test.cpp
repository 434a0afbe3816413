#include "engine/keys/value_range.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace skyrank::exec {
namespace {

/// More than the vectors of any machine hold, and no whole number of them.
constexpr std::size_t kSize = 131;

template <class T>
void expect_range(const std::vector<T>& values, const std::uint8_t* valid, T lowest, T highest) {
  const auto range = range_of_block(values.data(), valid, static_cast<std::int64_t>(values.size()));
  EXPECT_EQ(range.lowest, lowest);
  EXPECT_EQ(range.highest, highest);
  EXPECT_TRUE(range.any_value);
  EXPECT_EQ(range.any_null, valid != nullptr);
}

template <class T>
void expect_ends_anywhere() {
  constexpr T kLowest = std::numeric_limits<T>::min();
  constexpr T kHighest = std::numeric_limits<T>::max();
  for (std::size_t at = 0; at < kSize; ++at) {
    const std::size_t other = (at + 70) % kSize;
    std::vector<T> values(kSize, T{7});
    std::vector<std::uint8_t> valid(kSize, 1);
    values[at] = kLowest;
    values[other] = kHighest;
    expect_range(values, nullptr, kLowest, kHighest);
    expect_range(values, valid.data(), kLowest, kHighest);
    valid[at] = 0;
    expect_range(values, valid.data(), T{7}, kHighest);
    valid[other] = 0;
    expect_range(values, valid.data(), T{7}, T{7});
  }
}

TEST(ValueRange, HasItsEndsWhereverTheyAre) {
  expect_ends_anywhere<std::int8_t>();
  expect_ends_anywhere<std::uint8_t>();
  expect_ends_anywhere<std::int16_t>();
  expect_ends_anywhere<std::uint16_t>();
  expect_ends_anywhere<std::int32_t>();
  expect_ends_anywhere<std::uint32_t>();
  expect_ends_anywhere<std::int64_t>();
  expect_ends_anywhere<std::uint64_t>();
}

TEST(ValueRange, OfNullsAloneHasNoValue) {
  const std::vector<std::int32_t> values(kSize, -3);
  const std::vector<std::uint8_t> valid(kSize, 0);
  const auto range = range_of_block(values.data(), valid.data(), std::int64_t{kSize});
  EXPECT_FALSE(range.any_value);
  EXPECT_TRUE(range.any_null);
  EXPECT_FALSE(range_of_block(values.data(), nullptr, 0).any_value);
}

}  // namespace
}  // namespace skyrank::exec
