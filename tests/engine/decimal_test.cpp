#include "engine/decimal.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace skyrank {
namespace {

Decimal read(const std::string& text) {
  const auto decimal = parse_decimal(text);
  EXPECT_TRUE(decimal.has_value()) << text;
  return decimal.value_or(Decimal{});
}

const std::string kNines(38, '9');

TEST(Decimal, TextHasAllDigitsOfTheScale) {
  EXPECT_EQ(format_decimal({1230, 2}), "12.30");
  EXPECT_EQ(format_decimal({5, 2}), "0.05");
  EXPECT_EQ(format_decimal({-5, 1}), "-0.5");
  EXPECT_EQ(format_decimal({0, 0}), "0");
  EXPECT_EQ(format_decimal({0, 3}), "0.000");
  EXPECT_EQ(format_decimal({-120, 0}), "-120");
  EXPECT_EQ(format_decimal({power_of_ten(38) - 1, 0}), kNines);
  EXPECT_EQ(format_decimal({1, 38}), "0." + std::string(37, '0') + "1");
  const auto lowest = static_cast<Int128>(UInt128{1} << 127);
  EXPECT_EQ(format_decimal({lowest, 0}), "-170141183460469231731687303715884105728");
}

TEST(Decimal, TextIsReadExactly) {
  EXPECT_EQ(read("12.30"), (Decimal{123, 1}));
  EXPECT_EQ(read("0012"), (Decimal{12, 0}));
  EXPECT_EQ(read("-.5"), (Decimal{-5, 1}));
  EXPECT_EQ(read("+7."), (Decimal{7, 0}));
  EXPECT_EQ(read("1200"), (Decimal{1200, 0}));
  EXPECT_EQ(read("1.5e3"), (Decimal{1500, 0}));
  EXPECT_EQ(read("1.25E-2"), (Decimal{125, 4}));
  EXPECT_EQ(read("0.000"), (Decimal{0, 0}));
  EXPECT_EQ(read("0e99"), (Decimal{0, 0}));
  EXPECT_EQ(read(kNines), (Decimal{power_of_ten(38) - 1, 0}));
  EXPECT_EQ(read("0." + kNines), (Decimal{power_of_ten(38) - 1, 38}));
  EXPECT_EQ(read("1e-38"), (Decimal{1, 38}));
  EXPECT_EQ(read("1e37"), (Decimal{power_of_ten(37), 0}));
}

TEST(Decimal, TextOfNoDecimalIsRefused) {
  const std::string texts[] = {"",
                               ".",
                               "-",
                               "1.2.3",
                               "1e",
                               "e5",
                               "12a",
                               "nan",
                               "inf",
                               "1e38",
                               "1e-39",
                               "1" + kNines,
                               "1.2e99999999999",
                               "1e2.5",
                               "0." + kNines + "1"};
  for (const std::string& text : texts) EXPECT_EQ(parse_decimal(text), std::nullopt) << text;
}

TEST(Decimal, AFloatIsWhatItsShortestTextSays) {
  EXPECT_EQ(shortest_decimal(0.1), (Decimal{1, 1}));
  EXPECT_EQ(shortest_decimal(-12.30), (Decimal{-123, 1}));
  EXPECT_EQ(shortest_decimal(1e22), (Decimal{power_of_ten(22), 0}));
  EXPECT_EQ(shortest_decimal(1e300), std::nullopt);
  EXPECT_EQ(shortest_decimal(std::numeric_limits<double>::infinity()), std::nullopt);
}

TEST(Decimal, TheExactValueOfAFloatAtAScale) {
  EXPECT_EQ(exact_decimal(2.5, 1), (Decimal{25, 1}));
  EXPECT_EQ(exact_decimal(-2.5, 3), (Decimal{-2500, 3}));
  EXPECT_EQ(exact_decimal(0.375, 3), (Decimal{375, 3}));
  EXPECT_EQ(exact_decimal(0.375, 2), std::nullopt);
  EXPECT_EQ(exact_decimal(0.1, 20), std::nullopt);
  EXPECT_EQ(exact_decimal(1e30, 20), std::nullopt);  // more than 128 bits
  EXPECT_EQ(exact_decimal(std::nan(""), 2), std::nullopt);
}

TEST(Decimal, ScalesChangeWithoutLossOnly) {
  EXPECT_EQ(rescaled({125, 2}, 4), Int128{12500});
  EXPECT_EQ(rescaled({1200, 2}, 0), Int128{12});
  EXPECT_EQ(rescaled({125, 2}, 1), std::nullopt);
  EXPECT_EQ(rescaled({power_of_ten(38), 0}, 1), std::nullopt);
}

TEST(Decimal, OrderIsByValueWhateverTheScales) {
  EXPECT_TRUE(is_eq(order(Decimal{125, 1}, Decimal{12500, 3})));
  EXPECT_TRUE(is_lt(order(Decimal{-1, 0}, Decimal{-99, 2})));
  EXPECT_TRUE(is_gt(order(Decimal{power_of_ten(37), 0}, Decimal{1, 38})));
  EXPECT_TRUE(is_lt(order(Decimal{-power_of_ten(37), 0}, Decimal{1, 38})));
  EXPECT_TRUE(is_lt(order(Decimal{1, 38}, Decimal{power_of_ten(37), 0})));
}

TEST(Decimal, OrderWithFloatsIsExact) {
  EXPECT_TRUE(is_eq(order(Decimal{25, 1}, 2.5)));
  EXPECT_TRUE(is_lt(order(Decimal{1, 1}, 0.1)));  // the nearest float64 lies above 0.1
  EXPECT_TRUE(is_gt(order(Decimal{3, 1}, 0.3)));  // and below 0.3
  EXPECT_TRUE(is_gt(order(Decimal{-1, 1}, -0.1)));
  EXPECT_TRUE(is_gt(order(Decimal{1, 38}, 1e-300)));
  EXPECT_TRUE(is_lt(order(Decimal{0, 2}, 5e-324)));
  EXPECT_TRUE(is_gt(order(Decimal{0, 2}, -5e-324)));
  EXPECT_TRUE(is_gt(order(Decimal{power_of_ten(38) - 1, 0}, 1e38)));  // the nearest float64 lies below 10^38
  EXPECT_TRUE(is_lt(order(Decimal{power_of_ten(38) - 1, 0}, 1e300)));
  EXPECT_TRUE(is_gt(order(Decimal{-power_of_ten(38) + 1, 0}, -std::numeric_limits<double>::infinity())));
  EXPECT_EQ(order(Decimal{0, 0}, std::nan("")), std::partial_ordering::unordered);
  // The 53 digits of the float64 nearest to 0.1 begin 0.1000000000000000055511151231257827: one unit apart at scale 34.
  EXPECT_TRUE(is_lt(order(read("0.1000000000000000055511151231257827"), 0.1)));
  EXPECT_TRUE(is_gt(order(read("0.1000000000000000055511151231257828"), 0.1)));
}

TEST(Decimal, ToFloatRoundsAsReadingTheTextDoes) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const int digits = static_cast<int>(random() % 38) + 1;
    auto unscaled =
        static_cast<Int128>((UInt128{random()} << 64 | random()) % static_cast<UInt128>(power_of_ten(digits)));
    if (random() % 2 == 0) unscaled = -unscaled;
    const Decimal decimal{unscaled, static_cast<int>(random() % 39)};
    EXPECT_EQ(to_double(decimal), std::stod(format_decimal(decimal))) << format_decimal(decimal);
  }
  EXPECT_EQ(to_double({power_of_ten(38) - 1, 0}), 1e38);
  EXPECT_EQ(to_double(read("9007199254740993")), 9007199254740992.0);  // half way: to even
  EXPECT_EQ(to_double(read("9007199254740993.00000001")), 9007199254740994.0);
}

TEST(WideSum, IsExactBeyond128Bits) {
  WideSum sum;
  const Int128 large = power_of_ten(38) - 1;
  for (int i = 0; i < 5; ++i) sum += large;
  EXPECT_EQ(sum.value(), std::nullopt);
  EXPECT_EQ(sum.average(5, 0), 1e38);
  for (int i = 0; i < 5; ++i) sum += -large;
  sum += Int128{-7};
  EXPECT_EQ(sum.value(), Int128{-7});
  EXPECT_EQ(sum.average(2, 1), -0.35);
  WideSum negative;
  for (int i = 0; i < 3; ++i) negative += -large;
  WideSum both = negative;
  both += sum;
  EXPECT_EQ(both.average(1, 38), -3.0);
  for (int i = 0; i < 3; ++i) both += large;
  EXPECT_EQ(both.value(), Int128{-7});
}

}  // namespace
}  // namespace skyrank
