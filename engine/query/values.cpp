#include "engine/query/values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/decimal.hpp"
#include "engine/query/ast.hpp"
#include "engine/text.hpp"
#include "engine/time.hpp"

namespace skyrank::query {
namespace {

struct CastType {
  std::string_view name;
  DataType type;
};
constexpr std::array kCastTypes = {
    CastType{"int64", Type::int64},
    CastType{"int", Type::int64},
    CastType{"integer", Type::int64},
    CastType{"bigint", Type::int64},
    CastType{"uint64", Type::uint64},
    CastType{"ubigint", Type::uint64},
    CastType{"float64", Type::float64},
    CastType{"double", Type::float64},
    CastType{"float", Type::float64},
    CastType{"real", Type::float64},
    CastType{"bool", Type::boolean},
    CastType{"boolean", Type::boolean},
    CastType{"string", Type::string},
    CastType{"text", Type::string},
    CastType{"varchar", Type::string},
    CastType{"date", Type::date},
    CastType{"timestamp", {Type::timestamp, TimeUnit::microsecond}},
    CastType{"datetime", {Type::timestamp, TimeUnit::microsecond}},
};

/// Returns "decimal(p,s)" of "numeric ( p , s )" and "decimal(p)"; nothing for other texts.
std::optional<DataType> decimal_type(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::string_view word = text.substr(0, open);
  if (open == std::string_view::npos || (word != "decimal" && word != "numeric")) return std::nullopt;
  const std::string_view digits = text.substr(open + 1, text.size() - open - 2);
  const std::size_t comma = digits.find(',');
  int precision = 0;
  int scale = 0;
  const auto read = [](std::string_view number, int& value) {
    std::from_chars(number.data(), number.data() + number.size(), value);
  };
  read(digits.substr(0, comma), precision);
  if (comma != std::string_view::npos) read(digits.substr(comma + 1), scale);
  if (precision < 1 || precision > kMaxDigits128 || scale > precision) return std::nullopt;
  return DataType::decimal(precision, scale);
}

std::optional<Decimal> exact_decimal_of(const Value& value) {
  if (const auto* decimal = std::get_if<Decimal>(&value)) return *decimal;
  if (const auto* i = std::get_if<std::int64_t>(&value)) return Decimal{*i, 0};
  if (const auto* u = std::get_if<std::uint64_t>(&value)) return Decimal{*u, 0};
  return std::nullopt;
}

// The order of two numbers; nothing for other values.
std::optional<std::partial_ordering> compare_numbers(const Value& a, const Value& b) {
  const std::optional<Decimal> x = exact_decimal_of(a);
  const std::optional<Decimal> y = exact_decimal_of(b);
  const auto* p = std::get_if<double>(&a);
  const auto* q = std::get_if<double>(&b);
  if (x && y) return order(*x, *y);
  if (x && q != nullptr) return order(*x, *q);
  if (y && p != nullptr) return 0 <=> order(*y, *p);
  return p != nullptr && q != nullptr ? std::optional(*p <=> *q) : std::nullopt;
}

// Nanoseconds since 1970.
std::optional<Int128> as_instant(const Value& value) {
  if (const auto* date = std::get_if<Date>(&value)) return nanoseconds(date->days, Type::date);
  const auto* timestamp = std::get_if<Timestamp>(&value);
  if (timestamp == nullptr) return std::nullopt;
  return nanoseconds(timestamp->ticks, {Type::timestamp, timestamp->unit});
}

}  // namespace

Value float_if_it_tells(Decimal decimal) {
  const Decimal shortest = without_trailing_zeros(decimal);
  const double number = to_double(shortest);
  return shortest_decimal(number) == shortest ? Value(number) : Value(shortest);
}

Value normalized(Value value) {
  if (const auto* u = std::get_if<std::uint64_t>(&value); u != nullptr && std::in_range<std::int64_t>(*u)) {
    return static_cast<std::int64_t>(*u);
  }
  if (const auto* decimal = std::get_if<Decimal>(&value)) return float_if_it_tells(*decimal);
  return value;
}

std::optional<Decimal> decimal_of(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? shortest_decimal(*number) : exact_decimal_of(value);
}

std::optional<double> double_of(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  const std::optional<Decimal> decimal = exact_decimal_of(value);
  return decimal ? std::optional(to_double(*decimal)) : std::nullopt;
}

bool is_infinite(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr && std::isinf(*number);
}

std::partial_ordering compare(const Value& a, const Value& b) {
  if (const auto result = compare_numbers(a, b)) return *result;
  if (const auto x = as_instant(a), y = as_instant(b); x && y) return *x <=> *y;
  const auto* s = std::get_if<std::string>(&a);
  const auto* t = std::get_if<std::string>(&b);
  if (s != nullptr && t != nullptr) return *s <=> *t;
  const auto* p = std::get_if<bool>(&a);
  const auto* q = std::get_if<bool>(&b);
  if (p != nullptr && q != nullptr) return *p <=> *q;
  return std::partial_ordering::unordered;
}

std::string spelled(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  if (number != nullptr && !std::isfinite(*number)) return to_string(value);
  Node node;
  node.value = value;
  return to_text(node);
}

std::string_view kind_of(const Value& value) {
  constexpr std::string_view kKinds[] = {"NULL",   "a boolean",   "a number", "a number", "a number",
                                         "a date", "a timestamp", "a string", "a number"};
  return kKinds[value.index()];
}

std::string cast_type_name(std::string_view text) {
  std::string words = in_small_letters(text);
  if (words.starts_with("double") && words.ends_with("precision")) words = "double";
  std::erase_if(words, [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); });
  if (const auto decimal = decimal_type(words)) return to_string(*decimal);
  const auto known = std::ranges::find(kCastTypes, words, &CastType::name);
  if (known == kCastTypes.end()) return {};
  return std::string(std::ranges::find(kCastTypes, known->type, &CastType::type)->name);
}

DataType cast_type(std::string_view name) {
  if (const auto decimal = decimal_type(name)) return *decimal;
  return std::ranges::find(kCastTypes, name, &CastType::name)->type;
}

}  // namespace skyrank::query
