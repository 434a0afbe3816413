#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <skyrank/types.hpp>

// Exact decimals: text, order and conversion. Nothing here rounds but to_double, which rounds once and correctly.
namespace skyrank {

__extension__ using UInt128 = unsigned __int128;

/// 10^exponent, for 0 <= exponent <= 38.
Int128 power_of_ten(int exponent);

/// |value|, also of the lowest value.
constexpr UInt128 magnitude_of(Int128 value) {
  return value < 0 ? UInt128{0} - static_cast<UInt128>(value) : static_cast<UInt128>(value);
}

/// All digits behind the point are written: {1230, 2} is "12.30".
std::string format_decimal(Decimal value);

/// Reads digits with an optional sign, point and exponent, exactly, into the lowest scale that holds the number.
/// Nothing for other texts and for numbers that need more than 38 digits before or behind the point.
std::optional<Decimal> parse_decimal(std::string_view text);

/// The decimal that the shortest text of a float reads as: 0.1 for the float64 nearest to 0.1. Nothing where
/// parse_decimal gives nothing.
std::optional<Decimal> shortest_decimal(double value);

/// The decimal with exactly the value of a float at a scale; nothing where there is none.
std::optional<Decimal> exact_decimal(double value, int scale);

/// The same number without zeros at the end.
Decimal without_trailing_zeros(Decimal value);

/// The same number as a multiple of 10^-scale; nothing where it is none, or takes more than 128 bits.
std::optional<Int128> rescaled(Decimal value, int scale);

/// Orders two numbers by value, whatever their scales.
std::strong_ordering order(Decimal a, Decimal b);
/// Orders a decimal and a float by value; unordered only with NaN.
std::partial_ordering order(Decimal a, double b);

/// The nearest float64, ties to even.
double to_double(Decimal value);

/// A sum of up to 2^62 values of 128 bits.
class WideSum {
 public:
  WideSum& operator+=(Int128 value);
  WideSum& operator+=(const WideSum& other);

  /// The sum as 192 bits of two's complement, the lowest word first.
  std::array<std::uint64_t, 3> words() const;
  static WideSum of_words(const std::array<std::uint64_t, 3>& words);

  /// The sum, where 128 bits hold it.
  std::optional<Int128> value() const;
  /// The float64 nearest to sum / (count * 10^scale), for count >= 1.
  double average(std::int64_t count, int scale) const;

 private:
  UInt128 low_ = 0;  ///< the sum is high_ * 2^128 + low_
  std::int64_t high_ = 0;
};

}  // namespace skyrank
