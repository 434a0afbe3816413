#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "engine/operators/group/exact_sum.hpp"

namespace skyrank::exec {
namespace {

constexpr double kMaxDouble = std::numeric_limits<double>::max();
constexpr double kMinDouble = std::numeric_limits<double>::denorm_min();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

ExactSum sum_of(std::span<const double> values) {
  ExactSum sum;
  for (const double value : values) sum += value;
  return sum;
}

double total(std::vector<double> values) { return static_cast<double>(sum_of(values)); }

/// Any float but infinities and NaN.
double any_float(std::mt19937_64& random) {
  while (true) {
    const auto value = std::bit_cast<double>(random());
    if (std::isfinite(value)) return value;
  }
}

TEST(ExactSum, RoundsOnce) {
  EXPECT_EQ(total({}), 0.0);
  EXPECT_FALSE(std::signbit(total({-0.0, -0.0})));
  EXPECT_EQ(total({0.1, 0.2, -0.3}), 0x1p-55);
  EXPECT_EQ(total({1e100, 1.0, -1e100}), 1.0);
  EXPECT_EQ(total({1.0, 1e100, 1.0, -1e100}), 2.0);
  // Half of the last place goes to the even neighbour, and a bit more to the one above.
  EXPECT_EQ(total({1.0, 0x1p-53}), 1.0);
  EXPECT_EQ(total({1.0, 0x1p-53, kMinDouble}), 1.0 + 0x1p-52);
  EXPECT_EQ(total({-1.0, -0x1p-53, -kMinDouble}), -1.0 - 0x1p-52);
  EXPECT_EQ(total({1.0 + 0x1p-52, 0x1p-53}), 1.0 + 0x1p-51);
}

TEST(ExactSum, HoldsAllFloats) {
  EXPECT_EQ(total({kMaxDouble, kMaxDouble, -kMaxDouble}), kMaxDouble);
  EXPECT_EQ(total({kMaxDouble, kMinDouble, kMaxDouble, -kMaxDouble, -kMaxDouble}), kMinDouble);
  EXPECT_EQ(total({kMaxDouble, kMaxDouble}), kInfinity);
  EXPECT_EQ(total({-kMaxDouble, -kMaxDouble, kMinDouble}), -kInfinity);
  EXPECT_EQ(total({kMinDouble, kMinDouble, kMinDouble}), 3 * kMinDouble);
  EXPECT_EQ(total({0x1p-1022, -kMinDouble}), 0x1p-1022 - kMinDouble);
}

TEST(ExactSum, KnowsInfinitiesAndNan) {
  EXPECT_EQ(total({1.0, kInfinity, -kMaxDouble}), kInfinity);
  EXPECT_EQ(total({-kInfinity, 1.0}), -kInfinity);
  EXPECT_TRUE(std::isnan(total({kInfinity, -kInfinity})));
  EXPECT_TRUE(std::isnan(total({kInfinity, std::nan("")})));
}

TEST(ExactSum, StaysExactWhenTheWindowIsFull) {
  ExactSum sum;
  for (int i = 0; i < 1000; ++i) {
    sum += 0x1p80;
    sum += 0x1p-40;
  }
  for (int i = 0; i < 1000; ++i) sum += -0x1p80;
  EXPECT_EQ(static_cast<double>(sum), 1000 * 0x1p-40);
}

TEST(ExactSum, DependsOnNeitherOrderNorSplit) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> values;
    for (auto left = random() % 40; left > 0; --left) {
      values.push_back(round % 2 == 0 ? any_float(random) : static_cast<double>(random() % 1000) / 7);
    }
    const std::string expected = sum_of(values).text();
    const std::size_t cut = values.empty() ? 0 : random() % values.size();
    ExactSum parts = sum_of(std::span(values).subspan(cut));
    parts += sum_of(std::span(values).first(cut));
    EXPECT_EQ(parts.text(), expected);
    std::ranges::shuffle(values, random);
    EXPECT_EQ(sum_of(values).text(), expected);
  }
}

TEST(ExactSum, OpposedValuesLeaveWhatIsBetween) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 300; ++round) {
    const double left = any_float(random);
    std::vector<double> values = {left};
    for (auto pairs = random() % 10; pairs > 0; --pairs) {
      values.push_back(any_float(random));
      values.push_back(-values.back());
    }
    std::ranges::shuffle(values, random);
    EXPECT_EQ(total(values), left);
  }
}

TEST(ExactSum, TravelsAsText) {
  EXPECT_EQ(sum_of(std::vector{0.0}).text(), "0");
  EXPECT_EQ(sum_of(std::vector{-31.0 / 8}).text(), "-1fp-3");
  EXPECT_EQ(sum_of(std::vector{kMinDouble}).text(), "1p-1074");
  EXPECT_EQ(sum_of(std::vector{0x1p100, 0x1p-20}).text(), "1000000000000000000000000000001p-20");
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> values;
    for (auto left = random() % 5; left > 0; --left) values.push_back(any_float(random));
    if (round % 50 == 0) values.push_back(round == 0 ? kInfinity : (round == 50 ? -kInfinity : std::nan("")));
    const ExactSum sum = sum_of(values);
    std::optional<ExactSum> back = ExactSum::parse(sum.text());
    ASSERT_TRUE(back) << sum.text();
    EXPECT_EQ(back->text(), sum.text());
    *back += 1.5;
    ExactSum more = sum;
    more += 1.5;
    EXPECT_EQ(back->text(), more.text());
  }
}

TEST(ExactSum, RefusesOtherTexts) {
  for (const char* text : {"", "-", "p", "1", "1p", "p1", "--1p0", "1P0", "1Fp0", "1p0 ", "1p-1075", "1p99999999999",
                           "1p1086", "1fp1085", "NaN", "+1p0", "0x1p0"}) {
    EXPECT_FALSE(ExactSum::parse(text)) << text;
  }
  EXPECT_FALSE(ExactSum::parse("1" + std::string(600, '0') + "p0"));
  EXPECT_TRUE(ExactSum::parse("1p1085"));
}

}  // namespace
}  // namespace skyrank::exec
