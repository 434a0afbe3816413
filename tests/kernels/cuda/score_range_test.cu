#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/common/keys.hpp"
#include "kernels/cuda/expression/scan_rows.cuh"

// Tests which scores are at or beyond a threshold, decided without making keys, roots or quotients.
namespace skyrank::kernels::tests {
namespace {

using cuda::expression::QuotientBound;
using Range = cuda::expression::ScoreRange<std::uint64_t>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::uint64_t key_of(double value, bool high) { return float_key(with_bits_of<std::uint64_t>(value), high); }

/// Returns the range of scores whose keys are at most that of a bound, or less if none may tie with it.
Range range_to(double bound, bool high, bool ties) {
  const std::uint64_t most = key_of(bound, high);
  return {false, high, ties ? most : Range::key_below(false, high, most)};
}

bool is_within(double value, double bound, bool high, bool ties) {
  return key_of(value, high) < key_of(bound, high) + (ties ? 1 : 0);
}

/// Draws a number of any magnitude, or a round one.
double some_number(std::mt19937_64& random) {
  const double small = static_cast<double>(random() % 33) / 16 - 1;
  const double any = std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 2140) - 1127);
  return random() % 3 == 0 ? small : (random() % 2 == 0 ? any : -any);
}

/// A number and those next to it.
std::vector<double> around(double number) {
  std::vector<double> numbers = {number};
  for (double up = number, down = number; numbers.size() < 13;) {
    numbers.push_back(up = std::nextafter(up, kInfinity));
    numbers.push_back(down = std::nextafter(down, -kInfinity));
  }
  return numbers;
}

TEST(ScoreRange, HoldsWhatIsOnTheBoundsSide) {
  std::mt19937_64 random(1);
  std::vector<double> bounds = {0., -0., kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()};
  while (bounds.size() < 2000) bounds.push_back(some_number(random));
  for (const double bound : bounds) {
    std::vector<double> values = around(bound);
    values.insert(values.end(), {0., -0., kInfinity, -kInfinity, some_number(random)});
    for (const bool high : {false, true}) {
      for (const bool ties : {false, true}) {
        const Range range = range_to(bound, high, ties);
        for (const double value : values) {
          if (std::isnan(value)) continue;
          const std::uint64_t scores[] = {with_bits_of<std::uint64_t>(value)};
          ASSERT_EQ((range.bits_within(scores) & 1) != 0, is_within(value, bound, high, ties))
              << value << ", bound " << bound << (high ? ", high" : "") << (ties ? ", ties" : "");
        }
      }
    }
  }
}

TEST(ScoreRange, KeysBelowAreThoseOfScores) {
  EXPECT_EQ(Range::key_below(true, false, 0), 0U);
  EXPECT_EQ(Range::key_below(true, false, 8), 7U);
  EXPECT_EQ(Range::key_below(true, false, kNullKey<std::uint64_t>), kNullKey<std::uint64_t>);
  for (const bool high : {false, true}) {
    const double least = std::numeric_limits<double>::denorm_min();
    EXPECT_EQ(Range::key_below(false, high, key_of(0, high)), key_of(high ? least : -least, high));
    EXPECT_EQ(Range::key_below(false, high, kNanKey<std::uint64_t>), key_of(high ? -kInfinity : kInfinity, high));
  }
}

TEST(ScoreRange, HoldsWhatTheRootsAreOf) {
  std::mt19937_64 random(2);
  std::vector<double> bounds = {0., -1., kInfinity, 1e300, std::sqrt(std::numeric_limits<double>::max()), 2e-162};
  while (bounds.size() < 3000) {
    const double square = std::abs(some_number(random));
    bounds.push_back(random() % 2 == 0 ? std::sqrt(square) : square);
  }
  for (const double bound : bounds) {
    const bool exact = bound == 0 || (bound > 1e-150 && bound < 1e150);
    std::vector<double> squares = around(std::min(bound * bound, std::numeric_limits<double>::max()));
    squares.insert(squares.end(), {0., kInfinity, 0x1p-1074, std::abs(some_number(random))});
    for (const bool high : {false, true}) {
      for (const bool ties : {false, true}) {
        Range range = range_to(bound, high, ties);
        range.square();
        for (const double square : squares) {
          if (!(square >= 0)) continue;
          const std::uint64_t scores[] = {with_bits_of<std::uint64_t>(square)};
          const bool wanted = is_within(std::sqrt(square), bound, high, ties);
          const bool held = (range.bits_within(scores) & 1) != 0;
          ASSERT_TRUE(held == wanted || (!wanted && !exact))
              << square << ", bound " << bound << (high ? ", high" : "") << (ties ? ", ties" : "");
        }
      }
    }
  }
}

TEST(ScoreRange, HoldsWhoseQuotientsAreOnTheBoundsSide) {
  constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();
  std::mt19937_64 random(3);
  for (int round = 0; round < 20'000; ++round) {
    const double bound = round % 50 == 0 ? 0 : (round % 51 == 0 ? -kInfinity : some_number(random));
    const auto any = static_cast<float>(some_number(random));
    const float divisor = round % 20 == 0 ? 0 : (round % 21 == 0 ? -kFloatInfinity : any);
    std::vector<double> dividends = around(bound * divisor);
    dividends.insert(dividends.end(), {0., 1., -1., kInfinity, some_number(random)});
    // Neighbours of a product that is small are far from it.
    const bool exact = std::abs(bound) > 1e-200 && std::abs(bound) < 1e200 && std::isfinite(divisor) && divisor != 0;
    for (const bool high : {false, true}) {
      for (const bool ties : {false, true}) {
        Range range = range_to(bound, high, ties);
        const QuotientBound quotients(bound, high);
        range.divide(quotients, bound, ties);
        for (const double dividend : dividends) {
          const double quotient = dividend / static_cast<double>(divisor);
          if (std::isnan(quotient) || std::isnan(dividend)) continue;
          const std::uint64_t scores[] = {with_bits_of<std::uint64_t>(dividend)};
          const float divisors[] = {divisor};
          const bool held = range.quotients_within(quotients, scores, divisors) != 0;
          const double next = std::nextafter(bound, high == ties ? -kInfinity : kInfinity);
          const bool wanted = is_within(quotient, bound, high, ties);
          const bool nearly = quotient == bound || quotient == next;  // rounded to even from between
          ASSERT_TRUE(held == wanted || (!wanted && (nearly || !exact)))
              << dividend << " / " << divisor << ", bound " << bound << (high ? ", high" : "")
              << (ties ? ", ties" : "");
        }
      }
    }
  }
}

// All rows have the threshold's score: those that lie beyond its row are not to be looked at again.
TEST(ScoreRange, LeavesTiesOfQuotientsAndRoots) {
  for (const bool high : {false, true}) {
    for (const double dividend : {0., 0.5, -3., 1e10}) {
      for (const float divisor : {0.5F, -7.F, 3e-5F}) {
        const double bound = dividend / static_cast<double>(divisor);
        const std::uint64_t scores[] = {with_bits_of<std::uint64_t>(dividend)};
        const float divisors[] = {divisor};
        const QuotientBound quotients(bound, high);
        for (const bool ties : {false, true}) {
          Range range = range_to(bound, high, ties);
          range.divide(quotients, bound, ties);
          EXPECT_EQ(range.quotients_within(quotients, scores, divisors), ties ? 1U : 0U)
              << dividend << " / " << divisor;
        }
      }
    }
  }
}

}  // namespace
}  // namespace skyrank::kernels::tests
