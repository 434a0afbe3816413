#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "tests/differential/oracle/expression.hpp"

// Boxes of values, as the table of `step` in engine/docs/meaning.md defines them.
namespace skyrank::differential {
namespace {

/// A positive size, as a fraction.
struct Size {
  Integer numerator;
  Integer denominator = 1;
};

Integer floor_of(Integer value, Size size) {
  const Integer scaled = value * size.denominator;
  const Integer quotient = scaled / size.numerator;
  return quotient - (scaled % size.numerator < 0 ? 1 : 0);
}

/// Returns a number of few binary digits as a fraction.
Size size_of_number(const Cell& size) {
  if (const auto* whole = std::get_if<Integer>(&size)) return {*whole};
  const double quarters = 4 * std::get<double>(size);
  if (quarters != std::trunc(quarters)) throw Undefined("a size that is no multiple of a quarter");
  return {static_cast<Integer>(quarters), 4};
}

/// Returns the nanoseconds of a text such as "90s".
Size size_of_time(const std::string& text) {
  constexpr std::pair<const char*, Integer> kUnits[] = {{"s", kNsPerSecond},
                                                        {"min", 60 * kNsPerSecond},
                                                        {"h", 3600 * kNsPerSecond},
                                                        {"d", kNsPerDay},
                                                        {"w", 7 * kNsPerDay}};
  std::size_t digits = 0;
  const Integer count = std::stoi(text, &digits);
  for (const auto& [unit, ns] : kUnits) {
    if (text.substr(digits) == unit) return {count * ns};
  }
  throw Undefined("an unknown unit of time");
}

Size size_of_days(const Cell& size) {
  const auto* text = std::get_if<std::string>(&size);
  return text != nullptr ? size_of_time(*text) : Size{std::get<Integer>(size) * kNsPerDay};
}

/// Compares a value with (1 + ratio)^k, rounded to a float64: true if it is not less. The power is off by a few units
/// of a long double for each factor, which leaves the comparison open only where the value is next to it.
bool reaches(double value, long double base, int k) {
  const long double power = std::pow(base, static_cast<long double>(k));
  const long double error = std::ldexp(std::abs(static_cast<long double>(k)) + 4, -62);
  const auto least = static_cast<double>(power * (1 - error));
  const auto greatest = static_cast<double>(power * (1 + error));
  if (value >= greatest) return true;
  if (value < least) return false;
  throw Undefined("a value beside the boundary of its box");
}

double box_by_ratio(double value, const Cell& ratio) {
  if (std::isnan(value) || value < 0) return std::numeric_limits<double>::quiet_NaN();
  if (value == 0) return -std::numeric_limits<double>::infinity();
  if (std::isinf(value)) return value;
  const long double base = (100 + std::round(100 * static_cast<long double>(as_double(ratio)))) / 100;
  auto k = static_cast<int>(std::floor(std::log(static_cast<long double>(value)) / std::log(base)));
  while (!reaches(value, base, k)) --k;
  while (reaches(value, base, k + 1)) ++k;
  return k;
}

}  // namespace

Cell box_of(const Expression& bucket, const Cell& value) {
  if (is_null(value)) return {};
  const Cell& size = bucket.operands[1]->literal;
  if (bucket.op == Op::log_bucket) return box_by_ratio(as_double(value), size);
  if (const auto* day = std::get_if<Day>(&value)) return floor_of(day->number * kNsPerDay, size_of_days(size));
  if (const auto* moment = std::get_if<Moment>(&value)) {
    return floor_of(moment->ns, size_of_time(std::get<std::string>(size)));
  }
  if (const auto* number = std::get_if<double>(&value)) return std::floor(*number / as_double(size));
  return floor_of(std::get<Integer>(value), size_of_number(size));
}

}  // namespace skyrank::differential
