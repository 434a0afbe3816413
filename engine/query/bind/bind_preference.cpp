#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/decimal.hpp"
#include "engine/query/bind/binding.hpp"
#include "engine/query/check.hpp"
#include "engine/query/enum_words.hpp"
#include "engine/query/values.hpp"
#include "engine/text.hpp"
#include "engine/time.hpp"

// Types and normal form of a preference.
namespace skyrank::query {
namespace {

using Kind = Preference::Kind;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string described(const BoundExpression& expression) {
  return expression.text + " (" + to_string(expression.type) + ")";
}

// An integral float as an integer, so that distances to integers are exact.
Value integral_if_possible(double value) {
  constexpr double kLimit = 18446744073709551616.0;  // 2^64
  if (value != std::trunc(value) || std::abs(value) >= kLimit) return value;
  if (value >= 0) return normalized(static_cast<std::uint64_t>(value));
  if (value >= -kLimit / 2) return static_cast<std::int64_t>(value);
  return value;
}

std::optional<Value> to_number(const Value& value, bool integers) {
  const std::optional<double> number = double_of(value);
  if (!number || !integers) return number ? std::optional<Value>(*number) : std::nullopt;
  const bool whole = std::holds_alternative<std::int64_t>(value) || std::holds_alternative<std::uint64_t>(value);
  return whole ? value : integral_if_possible(*number);
}

// The decimal that a number says; a float that none does where it lies beyond all decimals, or is but to be found.
std::optional<Value> to_decimal(const Value& value, Kind kind) {
  if (const auto decimal = decimal_of(value)) return *decimal;
  const auto* number = std::get_if<double>(&value);
  return number != nullptr && (kind == Kind::in || std::abs(*number) >= 1) ? std::optional(value) : std::nullopt;
}

std::optional<Value> to_date(const Value& value) {
  if (std::holds_alternative<Date>(value)) return value;
  if (const auto* text = std::get_if<std::string>(&value)) return parse_date(*text);
  return std::nullopt;
}

// In `unit` where that holds the instant, else as written.
Timestamp in_unit(Timestamp timestamp, TimeUnit unit) {
  const Int128 time = nanoseconds(timestamp.ticks, {Type::timestamp, timestamp.unit});
  const std::int64_t tick = nanoseconds_per_tick({Type::timestamp, unit});
  const auto ticks = static_cast<std::int64_t>(time / tick);
  return Int128{ticks} * tick == time ? Timestamp{ticks, unit} : timestamp;
}

std::optional<Value> to_timestamp(const Value& value, TimeUnit unit) {
  if (const auto* timestamp = std::get_if<Timestamp>(&value)) return in_unit(*timestamp, unit);
  if (const auto* date = std::get_if<Date>(&value)) {
    return in_unit({date->days * kSecondsPerDay, TimeUnit::second}, unit);
  }
  const auto* text = std::get_if<std::string>(&value);
  const auto parsed = text == nullptr ? std::nullopt : parse_timestamp(*text);
  if (!parsed) return std::nullopt;
  return in_unit(*parsed, unit);
}

// Members of `in` are compared, which is exact between all numbers; a distance to a float is computed among floats.
std::optional<Value> converted(const Value& value, DataType type, Kind kind) {
  if (is_decimal(type.type)) return to_decimal(value, kind);
  if (is_numeric(type.type)) return to_number(value, kind == Kind::in || is_integer(type.type));
  if (type.type == Type::date) return to_date(value);
  if (type.type == Type::timestamp) return to_timestamp(value, type.unit);
  const bool fits =
      type.type == Type::boolean ? std::holds_alternative<bool>(value) : std::holds_alternative<std::string>(value);
  return fits ? std::optional(value) : std::nullopt;
}

// Returns an example of a value that is compared with `type`.
std::string_view example_of(Type type) {
  if (is_decimal(type)) return "a number of at most 38 digits behind the point";
  if (is_numeric(type)) return "a number";
  if (type == Type::date) return "a date like '2017-05-01'";
  if (type == Type::timestamp) return "a timestamp like '2017-05-01 12:00:00'";
  return type == Type::boolean ? "true or false" : "a string";
}

Value convert(const Value& value, const BoundExpression& expression, Kind kind) {
  if (auto result = converted(value, expression.type, kind)) return std::move(*result);
  throw BindError(
      in_quotes(word_for(kind)) + " compares " + described(expression) + " with " + std::string(kind_of(value)) + ", " +
          spelled(value) + "; it needs " + std::string(example_of(expression.type.type)) +
          (kind == Kind::between && is_infinite(value) ? "; a range without an end there leaves it out" : ""),
      expression.location);
}

// An end of a range that was left out is infinite, whatever the type.
Value convert_end(const Value& value, const BoundExpression& expression, Kind kind, double open) {
  return std::holds_alternative<Null>(value) ? Value(open) : convert(value, expression, kind);
}

void check_measurable(const BoundExpression& expression, Kind kind) {
  if (is_numeric(expression.type.type) || is_temporal(expression.type.type)) return;
  throw BindError(in_quotes(word_for(kind)) + " needs a number, a date or a timestamp to measure distances, " + "not " +
                      described(expression),
                  expression.location);
}

// Conversion may reveal what the text did not show: a range of dates upside down, one date written in two ways.
void check_converted(const Preference& term, const BoundPreference& bound) {
  Preference converted_term = term;
  converted_term.target = bound.target;
  converted_term.upper = bound.upper;
  converted_term.values = bound.values;
  try {
    check_node(converted_term);
  } catch (const QueryError& error) {
    throw BindError(error.message(), bound.expression.location);
  }
}

BoundPreference bind_values(const Preference& term, bool inverted, MissingFirst first, const ExpressionBinder& bind) {
  BoundPreference bound;
  bound.kind = term.kind;
  bound.inverted = inverted;
  bound.nulls_first = first.nulls && term.kind != Kind::where;
  bound.expression = bind(*term.expression);
  switch (term.kind) {
    case Kind::low:
    case Kind::high: return bound;
    case Kind::where: check_condition(bound.expression); return bound;
    case Kind::in:
      for (const auto& set : term.values) {
        auto& values = bound.values.emplace_back();
        for (const Value& value : set) values.push_back(convert(value, bound.expression, term.kind));
      }
      break;
    default:
      check_measurable(bound.expression, term.kind);
      bound.target = convert_end(term.target, bound.expression, term.kind, -kInfinity);
      if (term.kind == Kind::between) bound.upper = convert_end(term.upper, bound.expression, term.kind, kInfinity);
  }
  check_converted(term, bound);
  return bound;
}

BoundPreference bind_term(const Preference& term, bool inverted, MissingFirst first, const ExpressionBinder& bind) {
  BoundPreference values = bind_values(term, inverted, first, bind);
  if (!first.nan || !is_floating(values.expression.type.type)) return values;
  BoundPreference stands;
  stands.kind = Kind::where;
  stands.expression = bind(stands_first(*term.expression, first));
  BoundPreference bound;
  bound.kind = Kind::prior;
  bound.children = {std::move(stands), std::move(values)};
  return bound;
}

BoundPreference bind_node(const Preference& node, bool inverted, MissingFirst first, const ExpressionBinder& bind) {
  if (node.is_term()) return bind_term(node, inverted, first, bind);
  if (node.kind == Kind::inverse) return bind_node(node.children.front(), !inverted, first, bind);
  BoundPreference bound;
  bound.kind = node.kind;
  for (const Preference& child : node.children) {
    BoundPreference part = bind_node(child, inverted, first, bind);
    if (part.kind == node.kind) {
      std::move(part.children.begin(), part.children.end(), std::back_inserter(bound.children));
    } else {
      bound.children.push_back(std::move(part));
    }
  }
  if (bound.children.size() > 1) return bound;
  BoundPreference only = std::move(bound.children.front());
  return only;
}

NodePtr made(Op op, std::vector<NodePtr> children, bool negated = false) {
  Node node;
  node.op = op;
  node.negated = negated;
  node.children = std::move(children);
  return std::make_shared<const Node>(std::move(node));
}

}  // namespace

MissingFirst missing_first(const Query& query) {
  return {.nan = query.nan() == Missing::best, .nulls = query.nulls() == Missing::best};
}

Expression stands_first(const Expression& expression, MissingFirst first) {
  const NodePtr value = std::make_shared<const Node>(root_of(expression));
  const NodePtr is_nan = made(Op::not_equal, {value, value});  // NaN alone differs from itself
  const NodePtr is_null = made(Op::is_null, {value}, !first.nulls);
  return make_expression(made(first.nulls ? Op::logical_or : Op::logical_and, {is_null, is_nan}),
                         expression.location());
}

bool is_flat_pareto(const BoundPreference& preference) {
  const auto is_term = [](const BoundPreference& node) { return node.children.empty(); };
  const auto is_key = [&](const BoundPreference& node) {
    return is_term(node) || (node.kind == Kind::prior && std::ranges::all_of(node.children, is_term));
  };
  return is_key(preference) || (preference.kind == Kind::pareto && std::ranges::all_of(preference.children, is_key));
}

BoundPreference bind_preference(const Preference& preference, MissingFirst first, const ExpressionBinder& bind) {
  return bind_node(preference, false, first, bind);
}

std::vector<const BoundPreference*> picked_terms(const BoundPreference& preference) {
  if (preference.kind == Kind::prior) return picked_terms(preference.children.back());
  std::vector<const BoundPreference*> terms;
  if (preference.children.empty()) terms.push_back(&preference);
  for (const BoundPreference& child : preference.children) terms.push_back(&child);
  return terms;
}

Pick bind_pick(const Pick& pick, const BoundPreference& preference) {
  if (pick.by == Pick::By::coverage) return pick;
  const std::vector<const BoundPreference*> terms = picked_terms(preference);
  const std::string what = "'pick' by " + std::string(word_for(pick.by));
  for (const BoundPreference* term : terms) {
    if (term->kind != Kind::low && term->kind != Kind::high) {
      throw BindError(what + " weighs 'low' and 'high' terms of one Pareto order" +
                          (term->children.empty() ? "" : ", without 'nan: best'") + "; by coverage takes others",
                      term->expression.location);
    }
    const Type type = term->expression.type.type;
    if (is_numeric(type) || is_temporal(type)) continue;
    throw BindError(what + " needs numbers, dates and timestamps, not " + described(term->expression),
                    term->expression.location);
  }
  if (pick.by == Pick::By::hypervolume && pick.reference.size() != terms.size()) {
    const auto counted = [](std::size_t n, const char* noun) {
      return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
    };
    throw BindError("'pick' by hypervolume has " + counted(terms.size(), "term") + ", and the reference has " +
                        counted(pick.reference.size(), "value"),
                    {});
  }
  return pick;
}

}  // namespace skyrank::query
