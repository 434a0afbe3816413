#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/query/bound.hpp"

// Evaluates expressions one row at a time and without any of the evaluator's code: integers in 128 bits, comparisons in
// the extended precision of the machine where that is exact.
namespace skyrank::exec::reference {

__extension__ using Wide = __int128;
static_assert(std::numeric_limits<long double>::digits >= 64, "long double holds neither int64 nor uint64");

/// The row has no value: overflow, division by zero.
struct Failed {};

inline bool is_null(const Value& value) { return std::holds_alternative<Null>(value); }

inline std::optional<Wide> integer(const Value& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return Wide{*i};
  if (const auto* u = std::get_if<std::uint64_t>(&value)) return Wide{*u};
  return std::nullopt;
}

inline long double number(const Value& value) {
  if (const auto* d = std::get_if<double>(&value)) return *d;
  return static_cast<long double>(integer(value).value());
}

inline double real(const Value& value) {
  if (const auto* d = std::get_if<double>(&value)) return *d;
  if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<double>(*i);
  return static_cast<double>(std::get<std::uint64_t>(value));
}

inline bool is_time(const Value& value) {
  return std::holds_alternative<Date>(value) || std::holds_alternative<Timestamp>(value);
}

inline Wide ticks_per_unit(TimeUnit unit) {
  Wide nanoseconds = 1'000'000'000;
  for (int i = 0; i < static_cast<int>(unit); ++i) nanoseconds /= 1000;
  return nanoseconds;
}

inline Wide time_in_nanoseconds(const Value& value) {
  if (const auto* date = std::get_if<Date>(&value)) return Wide{date->days} * 24 * 60 * 60 * 1'000'000'000;
  const auto& time = std::get<Timestamp>(value);
  return time.ticks * ticks_per_unit(time.unit);
}

inline std::partial_ordering compare(const Value& a, const Value& b) {
  if (const auto* text = std::get_if<std::string>(&a)) return *text <=> std::get<std::string>(b);
  if (const auto* flag = std::get_if<bool>(&a)) return *flag <=> std::get<bool>(b);
  if (is_time(a)) return time_in_nanoseconds(a) <=> time_in_nanoseconds(b);
  return number(a) <=> number(b);
}

/// An exact integer as a value of `type`.
inline Value fit(Wide value, DataType type) {
  if (type.type == Type::date) {
    if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max())
      throw Failed{};
    return Date{static_cast<std::int32_t>(value)};
  }
  if (type.type == Type::uint64) {
    if (value < 0 || value > Wide{std::numeric_limits<std::uint64_t>::max()}) throw Failed{};
    return static_cast<std::uint64_t>(value);
  }
  if (value < std::numeric_limits<std::int64_t>::min() || value > std::numeric_limits<std::int64_t>::max())
    throw Failed{};
  if (type.type == Type::timestamp) return Timestamp{static_cast<std::int64_t>(value), type.unit};
  return static_cast<std::int64_t>(value);
}

/// `value` in the type that a choice among several types has.
inline Value convert(const Value& value, DataType type) {
  if (is_null(value)) return value;
  if (type.type == Type::float64) return real(value);
  if (is_integer(type.type)) return fit(integer(value).value(), type);
  if (type.type == Type::timestamp) return fit(time_in_nanoseconds(value) / ticks_per_unit(type.unit), type);
  return value;
}

inline Wide divide(query::Op op, Wide a, Wide b) {
  if (b == 0) throw Failed{};
  return op == query::Op::divide ? a / b : a % b;
}

inline Value arithmetic(const query::BoundNode& node, const Value& a, const Value& b) {
  using query::Op;
  if (node.type.type == Type::float64) {
    const double x = real(a);
    const double y = real(b);
    switch (node.op) {
      case Op::add: return x + y;
      case Op::subtract: return x - y;
      case Op::multiply: return x * y;
      case Op::divide: return x / y;
      default: return std::fmod(x, y);
    }
  }
  const auto units = [&](const Value& value) -> Wide {
    if (const auto* date = std::get_if<Date>(&value)) return date->days;
    if (!std::holds_alternative<Timestamp>(value)) return integer(value).value();
    const auto& first = std::get<Timestamp>(a);
    const auto& second = std::get<Timestamp>(b);
    return time_in_nanoseconds(value) / ticks_per_unit(std::max(first.unit, second.unit));
  };
  const Wide x = units(a);
  const Wide y = units(b);
  switch (node.op) {
    case Op::add: return fit(x + y, node.type);
    case Op::subtract: return fit(x - y, node.type);
    case Op::multiply: {
      Wide product = 0;
      if (__builtin_mul_overflow(x, y, &product)) throw Failed{};
      return fit(product, node.type);
    }
    default: return fit(divide(node.op, x, y), node.type);
  }
}

inline bool is_leap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

/// A part of a time, found by walking through the years and months of a cycle of 400 years from 2000-01-01.
inline std::int64_t part_of_time(query::Op part, const Value& time) {
  using query::Op;
  constexpr Wide kSecond = 1'000'000'000;
  const auto floored = [](Wide a, Wide b) { return a >= 0 ? a / b : -((-a + b - 1) / b); };
  const Wide seconds = floored(time_in_nanoseconds(time), kSecond);
  const Wide days = floored(seconds, 86400);
  const auto second = static_cast<std::int64_t>(seconds - days * 86400);
  if (part == Op::hour) return second / 3600;
  if (part == Op::minute) return second / 60 % 60;
  if (part == Op::second) return second % 60;
  constexpr Wide kDaysTo2000 = 10957;  // a Saturday
  constexpr Wide kCycle = 146097;      // whole weeks
  const Wide cycles = floored(days - kDaysTo2000, kCycle);
  auto left = static_cast<int>(days - kDaysTo2000 - cycles * kCycle);
  if (part == Op::weekday) return (left + 5) % 7 + 1;
  int year = 0;
  for (; left >= (is_leap(year) ? 366 : 365); ++year) left -= is_leap(year) ? 366 : 365;
  if (part == Op::year) return static_cast<std::int64_t>(2000 + 400 * cycles + year);
  const int lengths[] = {31, is_leap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int month = 0;
  for (; left >= lengths[month]; ++month) left -= lengths[month];
  return part == Op::month ? month + 1 : left + 1;
}

/// The characters of a text; bytes that begin none go with the one before.
inline std::vector<std::string> characters(const std::string& text) {
  std::vector<std::string> list;
  for (const char c : text) {
    if (list.empty() || (c & 0xC0) != 0x80) list.emplace_back();
    list.back() += c;
  }
  return list;
}

inline bool like(const std::vector<std::string>& text, const std::vector<std::string>& pattern, std::size_t t = 0,
                 std::size_t p = 0) {
  if (p == pattern.size()) return t == text.size();
  if (pattern[p] == "%") return like(text, pattern, t, p + 1) || (t < text.size() && like(text, pattern, t + 1, p));
  if (t == text.size()) return false;
  if (pattern[p] == "_") return like(text, pattern, t + 1, p + 1);
  if (pattern[p] == "\\" && p + 1 < pattern.size()) ++p;
  return text[t] == pattern[p] && like(text, pattern, t + 1, p + 1);
}

inline Value text_function(query::Op op, std::string text) {
  if (op == query::Op::length) {
    const auto begins = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
    return static_cast<std::int64_t>(begins);
  }
  for (char& c : text) {
    if (op == query::Op::lower && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    if (op == query::Op::upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
  }
  return text;
}

inline double rounded(double x) {
  const double whole = std::trunc(x);
  return std::fabs(x - whole) >= 0.5 ? whole + std::copysign(1.0, x) : whole;
}

inline Value function(const query::BoundNode& node, const Value& x) {
  using query::Op;
  if (is_time(x)) return part_of_time(node.op, x);
  if (const auto* text = std::get_if<std::string>(&x)) return text_function(node.op, *text);
  const std::optional<Wide> whole = integer(x);
  switch (node.op) {
    case Op::negate: return whole ? fit(-*whole, node.type) : Value(-real(x));
    case Op::abs: return whole ? fit(*whole < 0 ? -*whole : *whole, node.type) : Value(std::fabs(real(x)));
    case Op::floor: return whole ? x : Value(std::floor(real(x)));
    case Op::ceil: return whole ? x : Value(std::ceil(real(x)));
    case Op::round: return whole ? x : Value(rounded(real(x)));
    case Op::sqrt: return std::sqrt(real(x));
    case Op::log: return std::log(real(x));
    default: return std::exp(real(x));
  }
}

inline Value relation(query::Op op, const Value& a, const Value& b) {
  using query::Op;
  if (is_null(a) || is_null(b)) return Null{};
  const std::partial_ordering order = compare(a, b);
  switch (op) {
    case Op::equal: return order == 0;
    case Op::not_equal: return order != 0;
    case Op::less: return order < 0;
    case Op::less_equal: return order <= 0;
    case Op::greater: return order > 0;
    default: return order >= 0;
  }
}

inline Value negation(const Value& value) { return is_null(value) ? value : Value(!std::get<bool>(value)); }
inline bool is(const Value& value, bool truth) {
  return std::holds_alternative<bool>(value) && std::get<bool>(value) == truth;
}

/// Texts of numbers are those that tests write: whole numbers, and "1.5".
inline Value cast(const Value& value, DataType type) {
  if (is_null(value)) return value;
  if (type.type == Type::string) {
    const auto* text = std::get_if<std::string>(&value);
    return text != nullptr ? *text : to_string(value);
  }
  if (const auto* flag = std::get_if<bool>(&value)) return convert(std::int64_t{*flag}, type);
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (text->find_first_of("0123456789") == std::string::npos) throw Failed{};
    if (type.type == Type::float64) return std::stod(*text);
    if (text->find('.') != std::string::npos) throw Failed{};
    Wide whole = 0;
    for (const char c : *text) whole = c == '-' ? whole : whole * 10 + (c - '0');
    return fit(text->front() == '-' ? -whole : whole, type);
  }
  const auto* number = std::get_if<double>(&value);
  if (number == nullptr || type.type == Type::float64) return convert(value, type);
  const bool is_unsigned = type.type == Type::uint64;
  const long double cut = std::trunc(static_cast<long double>(*number));
  const long double limit = is_unsigned ? 18446744073709551616.0L : 9223372036854775808.0L;
  if (!(cut < limit && cut >= (is_unsigned ? 0.0L : -limit))) throw Failed{};
  return fit(static_cast<Wide>(cut), type);
}

inline Value evaluate(const query::BoundNode& node, const Table& table, RowId row) {
  using query::Op;
  const auto child = [&](std::size_t i) { return evaluate(*node.children[i], table, row); };
  const std::size_t n = node.children.size();
  switch (node.op) {
    case Op::literal: return node.value;
    case Op::column: return table.column(node.column).value(row);
    case Op::logical_not: return negation(child(0));
    case Op::is_null: return is_null(child(0)) != node.negated;
    case Op::logical_and:
    case Op::logical_or: {
      const bool decisive = node.op == Op::logical_or;
      Value result = !decisive;
      for (std::size_t i = 0; i < n; ++i) {
        const Value value = child(i);
        if (is(value, decisive)) return decisive;
        if (is_null(value)) result = Null{};
      }
      return result;
    }
    case Op::in: {
      const Value operand = child(0);
      Value result = false;
      for (std::size_t i = 1; i < n; ++i) {
        const Value equal = relation(Op::equal, operand, child(i));
        if (is(equal, true) || (is_null(equal) && !is(result, true))) result = equal;
      }
      return node.negated ? negation(result) : result;
    }
    case Op::between: {
      const Value operand = child(0);
      const Value lower = relation(Op::greater_equal, operand, child(1));
      const Value upper = relation(Op::less_equal, operand, child(2));
      Value result = true;
      if (is_null(lower) || is_null(upper)) result = Null{};
      if (is(lower, false) || is(upper, false)) result = false;
      return node.negated ? negation(result) : result;
    }
    case Op::case_when: {
      for (std::size_t i = 0; i + 1 < n; i += 2) {
        if (is(child(i), true)) return convert(child(i + 1), node.type);
      }
      return n % 2 == 1 ? convert(child(n - 1), node.type) : Value(Null{});
    }
    case Op::min:
    case Op::max: {
      std::vector<Value> values;
      for (std::size_t i = 0; i < n; ++i) values.push_back(child(i));
      for (const Value& value : values) {
        if (is_null(value)) return Null{};
      }
      Value best = values[0];
      for (const Value& value : values) {
        const auto order = compare(value, best);
        const bool nan = order == std::partial_ordering::unordered && number(best) == number(best);
        if (nan || (node.op == Op::min ? order < 0 : order > 0)) best = value;
      }
      return convert(best, node.type);
    }
    case Op::coalesce: {
      for (std::size_t i = 0; i < n; ++i) {
        const Value value = child(i);
        if (!is_null(value)) return convert(value, node.type);
      }
      return Null{};
    }
    case Op::cast: return cast(child(0), node.type);
    case Op::concat: {
      const Value first = child(0);
      const Value second = child(1);
      if (is_null(first) || is_null(second)) return Null{};
      return std::get<std::string>(first) + std::get<std::string>(second);
    }
    case Op::like: {
      const Value text = child(0);
      const Value pattern = child(1);
      if (is_null(text) || is_null(pattern)) return Null{};
      return like(characters(std::get<std::string>(text)), characters(std::get<std::string>(pattern))) != node.negated;
    }
    case Op::equal:
    case Op::not_equal:
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal: return relation(node.op, child(0), child(1));
    default: break;
  }
  const Value first = child(0);
  if (n == 1) return is_null(first) ? first : function(node, first);
  const Value second = child(1);
  return is_null(first) || is_null(second) ? Value(Null{}) : arithmetic(node, first, second);
}

/// Nothing where the row fails.
inline std::optional<Value> try_evaluate(const query::BoundExpression& expression, const Table& table, RowId row) {
  try {
    return evaluate(*expression.root, table, row);
  } catch (const Failed&) {
    return std::nullopt;
  }
}

/// Equality of results: NaN equals NaN, and an integer is one value whichever type holds it.
inline bool same(const Value& a, const Value& b) {
  const auto x = integer(a);
  const auto y = integer(b);
  if (x || y) return x == y;
  const auto* d = std::get_if<double>(&a);
  const auto* e = std::get_if<double>(&b);
  if (d != nullptr && e != nullptr) return (std::isnan(*d) && std::isnan(*e)) || *d == *e;
  return a == b;
}

}  // namespace skyrank::exec::reference
