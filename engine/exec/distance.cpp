#include "engine/exec/distance.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <stdexcept>
#include <variant>

namespace skyrank::exec {
namespace {

/// An end of a range, on a line where the column's values are the integers: `floor` plus a fraction in [0, 1).
struct End {
  int128 floor = 0;
  bool integral = true;
  double number = 0;  ///< the end itself, if it is a fractional number
  int128 time = 0;    ///< in nanoseconds, if it is a date or timestamp
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

bool is_infinite(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr && std::isinf(*number);
}

End end_of(const Value& value, DataType type) {
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
  // from - floor(from) <=> ceil(to) - to
  const int128 whole = from.floor + to.floor + 1;
  if (!is_temporal(type.type)) return compare_sum(from.number, to.number, whole);
  const int128 sum = from.time + to.time;
  const int128 bound = whole * nanoseconds_per_tick(type);
  if (sum == bound) return std::strong_ordering::equal;
  return sum < bound ? std::strong_ordering::less : std::strong_ordering::greater;
}

}  // namespace

kernels::DistanceKey distance_key(const Value& from, const Value& to, DataType type, int128 lowest, int128 highest) {
  // Every value is infinitely far from a range that holds nothing but an infinity.
  if (from == to && is_infinite(from)) return {};
  const End lower = end_of(from, type);
  const End upper = end_of(to, type);
  const int128 below = std::min(lower.integral ? lower.floor - 1 : lower.floor, highest);
  const int128 above = std::max(upper.floor + 1, lowest);
  const std::strong_ordering gaps = compare_gaps(lower, upper, type);
  const int128 count_below = std::max(below - lowest + 1, int128{0});
  const int128 count_above = std::max(highest - above + 1, int128{0});
  kernels::DistanceKey key;
  key.any_below = count_below > 0;
  key.any_above = count_above > 0;
  key.below = key.any_below ? static_cast<std::uint64_t>(below - lowest) : 0;
  key.above = key.any_above ? static_cast<std::uint64_t>(above - lowest) : 0;
  key.equal_gaps = gaps == 0;
  key.below_first = gaps < 0;
  key.inside = count_below + count_above < highest - lowest + 1 ? 1 : 0;
  key.shared = static_cast<std::uint64_t>(std::min(count_below, count_above));
  return key;
}

}  // namespace skyrank::exec
