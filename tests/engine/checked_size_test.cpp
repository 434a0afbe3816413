#include "engine/checked_size.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace skyrank {
namespace {

constexpr std::int64_t kMaxSigned = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMaxUnsigned = std::numeric_limits<std::uint64_t>::max();

TEST(CheckedSize, CountsThatAreThere) {
  EXPECT_EQ(checked_count(0, 0, "n"), 0u);
  EXPECT_EQ(checked_count(std::int64_t{5}, std::uint64_t{5}, "n"), 5u);
  EXPECT_EQ(checked_count(std::uint8_t{255}, kMaxSigned, "n"), 255u);
}

TEST(CheckedSize, CountsThatCannotBe) {
  EXPECT_THROW(checked_count(-1, 10, "n"), DataError);
  EXPECT_THROW(checked_count(11, 10, "n"), DataError);
  EXPECT_THROW(checked_count(kMaxUnsigned, kMaxSigned, "n"), DataError);
  EXPECT_THROW(checked_count(0, -1, "n"), DataError);
  try {
    checked_count(std::int64_t{-7}, 10, "the number of pages");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(error.message(), "the number of pages is -7, but at most 10 is possible: the data are damaged");
  }
}

TEST(CheckedSize, ProductsAndSums) {
  EXPECT_EQ(checked_multiply(3, std::size_t{8}, "n"), 24u);
  EXPECT_EQ(checked_multiply(0, kMaxUnsigned, "n"), 0u);
  EXPECT_THROW(checked_multiply(std::int64_t{1} << 61, 8, "n"), DataError);
  EXPECT_THROW(checked_multiply((std::int64_t{1} << 61) + 1, 8, "n"), DataError);
  EXPECT_THROW(checked_multiply(std::int64_t{1} << 60, 8, "n"), DataError);
  EXPECT_THROW(checked_multiply(-1, 8, "n"), DataError);
  EXPECT_EQ(checked_add(kMaxSigned, 0, "n"), static_cast<std::size_t>(kMaxSigned));
  EXPECT_THROW(checked_add(kMaxSigned, 1, "n"), DataError);
  EXPECT_THROW(checked_add(kMaxUnsigned, 1, "n"), DataError);
  EXPECT_THROW(checked_add(5, -1, "n"), DataError);
}

}  // namespace
}  // namespace skyrank
