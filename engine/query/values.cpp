#include "engine/query/values.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/decimal.hpp"
#include "engine/query/ast.hpp"
#include "engine/time.hpp"

namespace skyrank::query {
namespace {

// Holds every int64, uint64 and double exactly.
using Exact = long double;
static_assert(std::numeric_limits<Exact>::digits >= 64);

std::optional<Decimal> as_decimal(const Value& value) {
  if (const auto* decimal = std::get_if<Decimal>(&value)) return *decimal;
  if (const auto* i = std::get_if<std::int64_t>(&value)) return Decimal{*i, 0};
  if (const auto* u = std::get_if<std::uint64_t>(&value)) return Decimal{*u, 0};
  return std::nullopt;
}

// The order of a decimal and another number; nothing for other values.
std::optional<std::partial_ordering> compare_decimals(const Value& a, const Value& b) {
  if (!std::holds_alternative<Decimal>(a) && !std::holds_alternative<Decimal>(b)) return std::nullopt;
  const std::optional<Decimal> x = as_decimal(a);
  const std::optional<Decimal> y = as_decimal(b);
  if (x && y) return order(*x, *y);
  const auto* p = std::get_if<double>(&a);
  const auto* q = std::get_if<double>(&b);
  if (x && q != nullptr) return order(*x, *q);
  if (y && p != nullptr) return 0 <=> order(*y, *p);
  return std::nullopt;
}

std::optional<Exact> as_number(const Value& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<Exact>(*i);
  if (const auto* u = std::get_if<std::uint64_t>(&value)) return static_cast<Exact>(*u);
  if (const auto* d = std::get_if<double>(&value)) return static_cast<Exact>(*d);
  return std::nullopt;
}

// Whole seconds, rounded down, and the rest in nanoseconds.
using Instant = std::pair<std::int64_t, std::int64_t>;

std::optional<Instant> as_instant(const Value& value) {
  if (const auto* date = std::get_if<Date>(&value)) return Instant(date->days * kSecondsPerDay, 0);
  const auto* timestamp = std::get_if<Timestamp>(&value);
  if (timestamp == nullptr) return std::nullopt;
  const std::int64_t scale = ticks_per_second(timestamp->unit);
  std::int64_t seconds = timestamp->ticks / scale;
  std::int64_t rest = timestamp->ticks % scale;
  if (rest < 0) {
    --seconds;
    rest += scale;
  }
  return Instant(seconds, rest * (ticks_per_second(TimeUnit::nanosecond) / scale));
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

std::partial_ordering compare(const Value& a, const Value& b) {
  if (const auto result = compare_decimals(a, b)) return *result;
  if (const auto x = as_number(a), y = as_number(b); x && y) return *x <=> *y;
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
