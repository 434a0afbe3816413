#include "engine/keys/distance.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <stdexcept>
#include <variant>

#include "engine/decimal.hpp"
#include "engine/query/values.hpp"

namespace skyrank::exec {
namespace {

/// An end of a range, on a line where the column's values are the integers: `floor` plus a fraction in [0, 1).
struct End {
  int128 floor = 0;
  bool integral = true;
  double number = 0;  ///< the end itself, if it is a fractional number
  int128 time = 0;    ///< in nanoseconds, if it is a date or timestamp
  UInt128 tail = 0;   ///< the fraction, in units of 10^-38, if the column is one of decimals
};

End end_of_number(double value) {
  // Beyond this every end is past all values, and distances order the same way.
  constexpr double kFar = 0x1p100;
  const double near = std::clamp(value, -kFar, kFar);
  const double floor = std::floor(near);
  return {static_cast<int128>(floor), floor == near, value, 0};
}

End end_of_time(std::int64_t ticks, DataType from, DataType to) {
  const int128 time = nanoseconds(ticks, from);
  const int128 tick = nanoseconds_per_tick(to);
  const int128 quotient = time / tick;
  const int128 floor = quotient * tick > time ? quotient - 1 : quotient;
  return {floor, floor * tick == time, 0, time};
}

/// Far beyond all decimals.
End far_end(bool negative) {
  const int128 far = power_of_ten(kMaxDigits128 - 1) * 15;
  return {negative ? -far : far};
}

End end_of_decimal(Decimal value, int scale) {
  if (value.scale <= scale) {
    const std::optional<int128> steps = rescaled(value, scale);
    const bool near = steps && magnitude_of(*steps) < magnitude_of(far_end(false).floor);
    return near ? End{*steps} : far_end(value.unscaled < 0);
  }
  const int128 unit = power_of_ten(value.scale - scale);
  int128 floor = value.unscaled / unit;
  int128 rest = value.unscaled % unit;
  if (rest < 0) {
    --floor;
    rest += unit;
  }
  const auto tail =
      static_cast<UInt128>(rest) * static_cast<UInt128>(power_of_ten(kMaxDigits128 - value.scale + scale));
  return {floor, rest == 0, 0, 0, tail};
}

/// A number on the line of multiples of 10^-scale. Floats that no decimal of 38 digits holds are far away.
End end_among_decimals(const Value& value, int scale) {
  if (const auto decimal = query::decimal_of(value)) return end_of_decimal(*decimal, scale);
  return far_end(std::get<double>(value) < 0);
}

End end_of(const Value& value, DataType type) {
  if (is_decimal(type.type)) return end_among_decimals(value, type.scale);
  if (const auto* i = std::get_if<std::int64_t>(&value)) return {*i};
  if (const auto* u = std::get_if<std::uint64_t>(&value)) return {*u};
  if (const auto* d = std::get_if<double>(&value)) return end_of_number(*d);
  if (const auto* date = std::get_if<Date>(&value)) return end_of_time(date->days, Type::date, type);
  if (const auto* time = std::get_if<Timestamp>(&value)) {
    return end_of_time(time->ticks, DataType(Type::timestamp, time->unit), type);
  }
  throw std::logic_error("a distance to a value that is neither a number nor a time");
}

/// Sign of a + b - whole, exactly, for fractions a and b (which are below 2^52, as all larger doubles are integers).
std::strong_ordering compare_sum(double a, double b, int128 whole) {
  const double sum = a + b;
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);  // Knuth's two-sum: a + b == sum + error
  const auto target = static_cast<double>(whole);            // exact: at most 2^53
  if (sum != target) return sum < target ? std::strong_ordering::less : std::strong_ordering::greater;
  if (error == 0) return std::strong_ordering::equal;
  return error < 0 ? std::strong_ordering::less : std::strong_ordering::greater;
}

/// How the gap from `from` down to the next lower integer compares with the gap from `to` up to the next higher one.
std::strong_ordering compare_gaps(const End& from, const End& to, DataType type) {
  // The gap of an integral end is a whole step, longer than that of any fraction.
  if (from.integral || to.integral) {
    if (from.integral && to.integral) return std::strong_ordering::equal;
    return from.integral ? std::strong_ordering::greater : std::strong_ordering::less;
  }
  if (is_decimal(type.type)) return from.tail + to.tail <=> static_cast<UInt128>(power_of_ten(kMaxDigits128));
  // from - floor(from) <=> ceil(to) - to
  const int128 whole = from.floor + to.floor + 1;
  if (!is_temporal(type.type)) return compare_sum(from.number, to.number, whole);
  const int128 sum = from.time + to.time;
  const int128 bound = whole * nanoseconds_per_tick(type);
  if (sum == bound) return std::strong_ordering::equal;
  return sum < bound ? std::strong_ordering::less : std::strong_ordering::greater;
}

}  // namespace

WideRange wide_range(const Value& from, const Value& to, DataType type, int128 lowest, int128 highest) {
  // Every value is infinitely far from a range that holds nothing but an infinity.
  if (from == to && query::is_infinite(from)) return {};
  const End lower = end_of(from, type);
  const End upper = end_of(to, type);
  WideRange range;
  range.gaps = compare_gaps(lower, upper, type);
  range.below = std::min(lower.integral ? lower.floor - 1 : lower.floor, highest);
  range.above = std::max(upper.floor + 1, lowest);
  range.any_below = range.below >= lowest;
  range.any_above = range.above <= highest;
  return range;
}

kernels::DistanceKey distance_key(const Value& from, const Value& to, DataType type, int128 lowest, int128 highest) {
  const WideRange range = wide_range(from, to, type, lowest, highest);
  const int128 count_below = range.any_below ? range.below - lowest + 1 : 0;
  const int128 count_above = range.any_above ? highest - range.above + 1 : 0;
  kernels::DistanceKey key;
  key.any_below = range.any_below;
  key.any_above = range.any_above;
  key.below = key.any_below ? static_cast<std::uint64_t>(range.below - lowest) : 0;
  key.above = key.any_above ? static_cast<std::uint64_t>(range.above - lowest) : 0;
  key.equal_gaps = range.gaps == 0;
  key.below_first = range.gaps < 0;
  key.inside = count_below + count_above < highest - lowest + 1 ? 1 : 0;
  key.shared = static_cast<std::uint64_t>(std::min(count_below, count_above));
  return key;
}

}  // namespace skyrank::exec
