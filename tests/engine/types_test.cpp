#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <skyrank/types.hpp>

namespace skyrank {
namespace {

TEST(DataType, HasAName) {
  EXPECT_EQ(to_string(DataType(Type::boolean)), "bool");
  EXPECT_EQ(to_string(DataType(Type::int8)), "int8");
  EXPECT_EQ(to_string(DataType(Type::uint64)), "uint64");
  EXPECT_EQ(to_string(DataType(Type::float16)), "float16");
  EXPECT_EQ(to_string(DataType(Type::date)), "date");
  EXPECT_EQ(to_string(DataType(Type::string)), "string");
  EXPECT_EQ(to_string(DataType(Type::timestamp, TimeUnit::second)), "timestamp[s]");
  EXPECT_EQ(to_string(DataType(Type::timestamp, TimeUnit::millisecond)), "timestamp[ms]");
  EXPECT_EQ(to_string(DataType(Type::timestamp, TimeUnit::microsecond)), "timestamp[us]");
  EXPECT_EQ(to_string(DataType(Type::timestamp, TimeUnit::nanosecond)), "timestamp[ns]");
}

TEST(Value, IsSpeltAsInCsv) {
  EXPECT_EQ(to_string(Value{Null{}}), "");
  EXPECT_EQ(to_string(Value{true}), "true");
  EXPECT_EQ(to_string(Value{false}), "false");
  EXPECT_EQ(to_string(Value{std::numeric_limits<std::int64_t>::min()}), "-9223372036854775808");
  EXPECT_EQ(to_string(Value{std::numeric_limits<std::uint64_t>::max()}), "18446744073709551615");
  EXPECT_EQ(to_string(Value{Date{17287}}), "2017-05-01");
  EXPECT_EQ(to_string(Value{Timestamp{1493640000123, TimeUnit::millisecond}}), "2017-05-01 12:00:00.123");
  EXPECT_EQ(to_string(Value{std::string("a,\"b")}), "a,\"b");
}

TEST(Value, DoublesAreTheShortestTextThatReadsBack) {
  EXPECT_EQ(to_string(Value{0.1}), "0.1");
  EXPECT_EQ(to_string(Value{100000.0}), "100000");
  EXPECT_EQ(to_string(Value{-0.0}), "-0");
  EXPECT_EQ(to_string(Value{1e16}), "1e+16");
  EXPECT_EQ(to_string(Value{0.30000000000000004}), "0.30000000000000004");
  EXPECT_EQ(to_string(Value{0.00001}), "0.00001");
  EXPECT_EQ(to_string(Value{0.000001}), "1e-06");
  EXPECT_EQ(to_string(Value{std::numeric_limits<double>::infinity()}), "inf");
  EXPECT_EQ(to_string(Value{-std::numeric_limits<double>::infinity()}), "-inf");
  EXPECT_EQ(to_string(Value{std::nan("")}), "nan");
  EXPECT_EQ(to_string(Value{-std::nan("")}), "nan");
  for (const double value : {std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min(), 1.0 / 3,
                             9007199254740993.0, 123456.789e-5, -2.5e15}) {
    EXPECT_EQ(std::strtod(to_string(Value{value}).c_str(), nullptr), value);
  }
}

// IEEE 754, 3.4: the definition by sign, exponent and fraction.
double half_by_definition(std::uint16_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = (bits >> 10) & 0x1F;
  const int fraction = bits & 0x3FF;
  if (exponent == 0x1F) return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(Float16, EveryBitPatternWidensExactly) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const float widened = static_cast<float>(Float16{static_cast<std::uint16_t>(bits)});
    const double expected = half_by_definition(static_cast<std::uint16_t>(bits));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(widened)) << bits;
    } else {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(double{widened}), std::bit_cast<std::uint64_t>(expected)) << bits;
    }
  }
}

}  // namespace
}  // namespace skyrank
