#include "engine/expression/boxes.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/decimal.hpp"

namespace skyrank::exec {
namespace {

/// The sum of two floats, and what it lost.
struct Sum {
  double value;
  double error;
};

Sum two_sum(double a, double b) {
  const double value = a + b;
  const double part = value - a;
  return {value, (a - (value - part)) + (b - part)};
}

}  // namespace

Int128 box_of(Int128 value, Int128 size, int digits) {
  const bool negative = value < 0;
  Int128 quotient = value / size;
  Int128 rest = value % size;
  if (negative && rest != 0) {
    --quotient;
    rest += size;
  }
  // Long division, as value * 10^digits may not fit.
  for (; digits > 0; --digits) {
    rest *= 10;
    quotient = quotient * 10 + rest / size;
    rest %= size;
  }
  return quotient;
}

RatioBoxes::RatioBoxes(Decimal ratio) {
  const Int128 unit = power_of_ten(ratio.scale);
  const auto split = [](Int128 value) {
    const auto high = static_cast<double>(value);
    return normalized(high, static_cast<double>(value - static_cast<Int128>(high)), 0);
  };
  base_ = product(split(unit + ratio.unscaled), inverse(split(unit)));
  log_base_ = std::log1p(to_double(ratio));
}

RatioBoxes::Power RatioBoxes::normalized(double high, double low, int exponent) {
  const Sum sum = two_sum(high, low);
  int shift = 0;
  const double fraction = std::frexp(sum.value, &shift) * 2;
  return {fraction, std::ldexp(sum.error, 1 - shift), exponent + shift - 1};
}

RatioBoxes::Power RatioBoxes::product(const Power& a, const Power& b) {
  const double high = a.high * b.high;
  const double low = std::fma(a.high, b.high, -high) + (a.high * b.low + a.low * b.high);
  return normalized(high, low, a.exponent + b.exponent);
}

RatioBoxes::Power RatioBoxes::inverse(const Power& a) {
  const double high = 1 / a.high;
  const double rest = std::fma(-high, a.high, 1.0) - high * a.low;
  return normalized(high, rest / a.high, -a.exponent);
}

double RatioBoxes::boundary(double box) const {
  Power power;
  Power factor = base_;
  for (auto n = static_cast<std::uint64_t>(std::abs(box)); n > 0; n /= 2) {
    if (n % 2 == 1) power = product(power, factor);
    if (n > 1) factor = product(factor, factor);
  }
  if (box < 0) power = inverse(power);
  return std::ldexp(power.high, power.exponent);
}

double RatioBoxes::box_of(double value) const {
  if (!(value >= 0)) return std::numeric_limits<double>::quiet_NaN();
  if (value == 0) return -std::numeric_limits<double>::infinity();
  if (std::isinf(value)) return value;
  const double quotient = std::log(value) / log_base_;
  double box = std::floor(quotient);
  // Far from a boundary neither its rounding nor that of the logarithms matters.
  const double margin = 1e-15 / log_base_ + 1e-13 * (1 + std::abs(quotient));
  if (quotient - box > margin && box + 1 - quotient > margin) return box;
  while (value < boundary(box)) --box;
  while (value >= boundary(box + 1)) ++box;
  return box;
}

}  // namespace skyrank::exec
