#include "engine/decimal.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "engine/text.hpp"

namespace skyrank {
namespace {

constexpr auto kPowers = [] {
  std::array<Int128, kMaxDigits128 + 1> powers{};
  powers[0] = 1;
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = 10 * powers[i - 1];
  return powers;
}();

int bit_width(UInt128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return static_cast<int>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(value)));
}

/// An unsigned integer of 256 bits, for intermediate products and quotients of decimals.
struct UInt256 {
  UInt128 high = 0;
  UInt128 low = 0;

  auto operator<=>(const UInt256&) const = default;

  int width() const { return high != 0 ? 128 + bit_width(high) : bit_width(low); }

  UInt256 operator<<(int bits) const {
    if (bits == 0) return *this;
    if (bits >= 128) return {low << (bits - 128), 0};
    return {(high << bits) | (low >> (128 - bits)), low << bits};
  }

  UInt256& operator-=(const UInt256& other) {
    high -= other.high + (low < other.low ? 1 : 0);
    low -= other.low;
    return *this;
  }
};

/// Multiplies word by word.
UInt256 product(UInt128 a, std::uint64_t b) {
  const UInt128 low = static_cast<UInt128>(static_cast<std::uint64_t>(a)) * b;
  const UInt128 middle = (a >> 64) * b + (low >> 64);
  return {middle >> 64, (middle << 64) | static_cast<std::uint64_t>(low)};
}

/// The float64 nearest to numerator / denominator, ties to even; the denominator has at most 190 bits.
double rounded_ratio(UInt256 numerator, UInt256 denominator) {
  if (numerator == UInt256{}) return 0;
  // The quotient has 55 to 57 bits. A remainder sets its last bit, so that one rounding to 53 bits is correct.
  constexpr int kBits = 56;
  const int shift = denominator.width() + kBits - numerator.width();
  if (shift > 0) {
    numerator = numerator << shift;
  } else {
    denominator = denominator << -shift;
  }
  std::uint64_t quotient = 0;
  for (int bit = kBits; bit >= 0; --bit) {
    const UInt256 part = denominator << bit;
    if (numerator < part) continue;
    numerator -= part;
    quotient |= std::uint64_t{1} << bit;
  }
  if (numerator != UInt256{}) quotient |= 1;
  return std::ldexp(static_cast<double>(quotient), -shift);
}

/// A fraction in [0, 1): digits / 10^scale against a float.
std::strong_ordering order_fractions(UInt128 digits, int scale, double fraction) {
  if (digits == 0 || fraction == 0) return (digits == 0 ? 0 : 1) <=> (fraction == 0 ? 0 : 1);
  int exponent = 0;
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(std::frexp(fraction, &exponent), 53));
  // digits / 10^scale against mantissa * 2^(exponent - 53), both times 5^scale * 2^(53 - exponent).
  UInt128 five = 1;
  for (int i = 0; i < scale; ++i) five *= 5;
  const UInt256 right = product(five, mantissa);
  const int shift = 53 - exponent - scale;
  const int left_width = bit_width(digits) + std::max(shift, 0);
  const int right_width = right.width() + std::max(-shift, 0);
  if (left_width != right_width) return left_width <=> right_width;
  return (UInt256{0, digits} << std::max(shift, 0)) <=> (right << std::max(-shift, 0));
}

std::strong_ordering reversed_if(bool negative, std::strong_ordering order) { return negative ? 0 <=> order : order; }

/// The digits of a number and the power of ten that they are multiplied by.
struct Scientific {
  UInt128 digits = 0;
  int exponent = 0;
};

/// Digits with an optional point; nothing where there are none, or more than 38 count.
std::optional<Scientific> parse_mantissa(std::string_view text) {
  Scientific number;
  bool any = false;
  bool behind_point = false;
  int zeros = 0;  // which count once another digit follows
  for (const char c : text) {
    if (c == '.' && !behind_point) {
      behind_point = true;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    any = true;
    if (behind_point) --number.exponent;
    if (c == '0') {
      ++zeros;
      continue;
    }
    for (; zeros > 0 && number.digits != 0; --zeros) {
      if (number.digits >= static_cast<UInt128>(kPowers[kMaxDigits128 - 1])) return std::nullopt;
      number.digits *= 10;
    }
    zeros = 0;
    if (number.digits >= static_cast<UInt128>(kPowers[kMaxDigits128 - 1])) return std::nullopt;
    number.digits = number.digits * 10 + static_cast<unsigned>(c - '0');
  }
  if (!any) return std::nullopt;
  number.exponent += zeros;
  return number;
}

}  // namespace

Int128 power_of_ten(int exponent) { return kPowers[static_cast<std::size_t>(exponent)]; }

std::string format_decimal(Decimal value) {
  std::string digits;
  UInt128 rest = magnitude_of(value.unscaled);
  for (; rest != 0 || static_cast<int>(digits.size()) <= value.scale; rest /= 10) {
    if (static_cast<int>(digits.size()) == value.scale && value.scale > 0) digits += '.';
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
  }
  if (value.unscaled < 0) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::optional<Decimal> parse_decimal(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int exponent = 0;
  const std::size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos) {
    std::string_view power = text.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    const auto read = std::from_chars(power.data(), power.data() + power.size(), exponent);
    if (read.ec != std::errc() || read.ptr != power.data() + power.size()) return std::nullopt;
    text = text.substr(0, e);
  }
  const std::optional<Scientific> number = parse_mantissa(text);
  if (!number) return std::nullopt;
  if (number->digits == 0) return Decimal{};
  constexpr int kFar = 1000;
  if (std::abs(exponent) > kFar) return std::nullopt;
  exponent += number->exponent;
  if (exponent < -kMaxDigits128 || exponent > kMaxDigits128) return std::nullopt;
  const auto unscaled = static_cast<Int128>(number->digits);
  const std::optional<Int128> whole = rescaled({unscaled, 0}, std::max(exponent, 0));
  if (!whole || *whole >= kPowers[kMaxDigits128 - 1] * 10) return std::nullopt;
  return Decimal{negative ? -*whole : *whole, std::max(-exponent, 0)};
}

std::optional<Decimal> shortest_decimal(double value) { return parse_decimal(format_number(value)); }

std::optional<Decimal> exact_decimal(double value, int scale) {
  if (!std::isfinite(value)) return std::nullopt;
  constexpr double kLimit = 0x1p126;
  const double whole = std::trunc(value);
  if (std::fabs(whole) >= kLimit) return std::nullopt;
  double fraction = value - whole;
  Int128 digits = 0;
  // Each step doubles the fraction and takes what crosses the point: a fraction of n bits needs n decimals.
  Int128 unit = kPowers[static_cast<std::size_t>(scale)];
  for (; fraction != 0; fraction -= std::trunc(fraction)) {
    if (unit % 2 != 0) return std::nullopt;
    unit /= 2;
    fraction *= 2;
    digits += static_cast<Int128>(std::trunc(fraction)) * unit;
  }
  const std::optional<Int128> scaled = rescaled({static_cast<Int128>(whole), 0}, scale);
  Int128 sum = 0;
  if (!scaled || __builtin_add_overflow(*scaled, digits, &sum)) return std::nullopt;
  return Decimal{sum, scale};
}

Decimal without_trailing_zeros(Decimal value) {
  if (value.unscaled == 0) return {};
  while (value.scale > 0 && value.unscaled % 10 == 0) {
    value.unscaled /= 10;
    --value.scale;
  }
  return value;
}

std::optional<Int128> rescaled(Decimal value, int scale) {
  const Int128 factor = power_of_ten(std::abs(scale - value.scale));
  if (scale < value.scale) return value.unscaled % factor == 0 ? std::optional(value.unscaled / factor) : std::nullopt;
  Int128 result = 0;
  if (__builtin_mul_overflow(value.unscaled, factor, &result)) return std::nullopt;
  return result;
}

std::strong_ordering order(Decimal a, Decimal b) {
  const int scale = std::max(a.scale, b.scale);
  const std::optional<Int128> x = rescaled(a, scale);
  const std::optional<Int128> y = rescaled(b, scale);
  if (x && y) return *x <=> *y;
  // Only one value was rescaled. That overflowed, so its magnitude is greater than that of the other one.
  const bool of_a = !x;
  return reversed_if(of_a == ((of_a ? a : b).unscaled < 0), std::strong_ordering::greater);
}

std::partial_ordering order(Decimal a, double b) {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  constexpr double kBeyond = 0x1p127;
  if (b >= kBeyond) return std::partial_ordering::less;
  if (b < -kBeyond) return std::partial_ordering::greater;
  // Parts before the point first; these are cut towards zero, so that what is behind the point is exact.
  const Int128 unit = power_of_ten(a.scale);
  const double whole = std::trunc(b);
  const Int128 before = a.unscaled / unit;
  if (before != static_cast<Int128>(whole)) return before <=> static_cast<Int128>(whole);
  const Int128 digits = a.unscaled % unit;
  const double fraction = b - whole;
  if (digits < 0 && fraction >= 0) return std::partial_ordering::less;
  if (digits >= 0 && fraction < 0) return std::partial_ordering::greater;
  return reversed_if(digits < 0, order_fractions(magnitude_of(digits), a.scale, std::fabs(fraction)));
}

double to_double(Decimal value) {
  constexpr Int128 kExact = Int128{1} << 53;
  constexpr int kExactPower = 22;  // 10^22 is a float64
  if (value.unscaled >= -kExact && value.unscaled <= kExact && value.scale <= kExactPower) {
    return static_cast<double>(static_cast<std::int64_t>(value.unscaled)) /
           static_cast<double>(power_of_ten(value.scale));
  }
  const double ratio =
      rounded_ratio({0, magnitude_of(value.unscaled)}, {0, static_cast<UInt128>(power_of_ten(value.scale))});
  return value.unscaled < 0 ? -ratio : ratio;
}

WideSum& WideSum::operator+=(Int128 value) {
  const auto bits = static_cast<UInt128>(value);
  low_ += bits;
  high_ += (low_ < bits ? 1 : 0) - (value < 0 ? 1 : 0);
  return *this;
}

WideSum& WideSum::operator+=(const WideSum& other) {
  low_ += other.low_;
  high_ += other.high_ + (low_ < other.low_ ? 1 : 0);
  return *this;
}

std::array<std::uint64_t, 3> WideSum::words() const {
  return {static_cast<std::uint64_t>(low_), static_cast<std::uint64_t>(low_ >> 64), static_cast<std::uint64_t>(high_)};
}

WideSum WideSum::of_words(const std::array<std::uint64_t, 3>& words) {
  WideSum sum;
  sum.low_ = (UInt128{words[1]} << 64) | words[0];
  sum.high_ = static_cast<std::int64_t>(words[2]);
  return sum;
}

std::optional<Int128> WideSum::value() const {
  const auto narrow = static_cast<Int128>(low_);
  if (high_ != (narrow < 0 ? -1 : 0)) return std::nullopt;
  return narrow;
}

double WideSum::average(std::int64_t count, int scale) const {
  const bool negative = high_ < 0;
  auto high = static_cast<std::uint64_t>(high_);
  UInt128 low = low_;
  if (negative) {
    low = UInt128{0} - low;
    high = ~high + (low == 0 ? 1 : 0);
  }
  const UInt256 denominator = product(static_cast<UInt128>(power_of_ten(scale)), static_cast<std::uint64_t>(count));
  const double ratio = rounded_ratio({high, low}, denominator);
  return negative ? -ratio : ratio;
}

}  // namespace skyrank
