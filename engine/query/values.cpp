#include "engine/query/values.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/decimal.hpp"
#include "engine/query/ast.hpp"
#include "engine/time.hpp"

namespace skyrank::query {
namespace {

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

}  // namespace skyrank::query
