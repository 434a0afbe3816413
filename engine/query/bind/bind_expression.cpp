#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/decimal.hpp"
#include "engine/query/ast.hpp"
#include "engine/query/bind/binding.hpp"
#include "engine/query/check.hpp"
#include "engine/query/duration.hpp"
#include "engine/query/values.hpp"
#include "engine/text.hpp"
#include "engine/time.hpp"

// Names and types of one expression. NULL has no type of its own, nor has a choice among NULLs: they are bound
// provisionally and take the type their context wants.
namespace skyrank::query {

BoundPtr make_literal(Value value, DataType type) {
  auto node = std::make_shared<BoundNode>();
  node->op = Op::literal;
  node->type = type;
  node->value = std::move(value);
  return node;
}

BoundPtr make_node(Op op, DataType type, std::vector<BoundPtr> children, bool negated) {
  auto node = std::make_shared<BoundNode>();
  node->op = op;
  node->type = type;
  node->negated = negated;
  node->children = std::move(children);
  return node;
}

namespace {

DataType evaluation_type(DataType stored) {
  if (is_signed_integer(stored.type)) return Type::int64;
  if (is_unsigned_integer(stored.type)) return Type::uint64;
  if (is_floating(stored.type)) return Type::float64;
  return stored;
}

DataType type_of_value(const Value& value) {
  struct Visitor {
    DataType operator()(Null) const { return Type::boolean; }
    DataType operator()(bool) const { return Type::boolean; }
    DataType operator()(std::int64_t) const { return Type::int64; }
    DataType operator()(std::uint64_t) const { return Type::uint64; }
    DataType operator()(double) const { return Type::float64; }
    DataType operator()(Date) const { return Type::date; }
    DataType operator()(Timestamp t) const { return {Type::timestamp, t.unit}; }
    DataType operator()(const std::string&) const { return Type::string; }
    DataType operator()(Decimal) const { return Type::float64; }
  };
  return std::visit(Visitor{}, value);
}

/// Returns true for "sqr(price)", a text that is meant as an expression.
bool is_call(std::string_view text) {
  const std::size_t name = text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
  return name != 0 && name != std::string_view::npos && text[name] == '(' && text.back() == ')';
}

/// A literal of the parser's: one that float64 rounds is a float64 that remembers its digits.
BoundPtr bind_literal(const Value& value) {
  const auto* decimal = std::get_if<Decimal>(&value);
  if (decimal == nullptr) return make_literal(value, type_of_value(value));
  auto node = std::make_shared<BoundNode>();
  node->op = Op::literal;
  node->type = Type::float64;
  node->value = to_double(*decimal);
  node->written = *decimal;
  return node;
}

/// Calls `f` with the places of the values that a `case`, `min`, `max` or `coalesce` chooses from.
template <class F>
void for_choices(const BoundNode& node, F f) {
  const std::size_t n = node.children.size();
  const bool is_case = node.op == Op::case_when;
  for (std::size_t i = 0; i < n; ++i) {
    if (!is_case || i % 2 == 1 || i + 1 == n) f(i);
  }
}

/// A NULL, or a choice among NULLs.
bool is_untyped(const BoundNode& node) {
  if (node.op == Op::literal) return std::holds_alternative<Null>(node.value);
  if (node.op != Op::case_when && node.op != Op::min && node.op != Op::max && node.op != Op::coalesce) return false;
  bool untyped = true;
  for_choices(node, [&](std::size_t i) { untyped = untyped && is_untyped(*node.children[i]); });
  return untyped;
}

int digits_of(Decimal value) {
  int digits = 1;
  while (digits < kMaxDigits128 && magnitude_of(value.unscaled) >= magnitude_of(power_of_ten(digits))) ++digits;
  return digits;
}

/// The decimal that a literal says; nothing for other nodes, and for numbers that no decimal holds.
std::optional<Decimal> decimal_of_literal(const BoundNode& node) {
  if (node.op != Op::literal) return std::nullopt;
  return node.written ? node.written : decimal_of(node.value);
}

/// Gives `type` to a node without a type. A non-negative integer literal becomes unsigned if `type` is, and a number
/// becomes the decimal that its text says if `type` is one.
BoundPtr adapt(const BoundPtr& node, DataType type) {
  if (is_untyped(*node)) {
    if (node->op == Op::literal) return make_literal(Null{}, type);
    std::vector<BoundPtr> children = node->children;
    for_choices(*node, [&](std::size_t i) { children[i] = adapt(children[i], type); });
    return make_node(node->op, type, std::move(children));
  }
  if (is_decimal(type.type)) {
    const std::optional<Decimal> decimal = decimal_of_literal(*node);
    if (!decimal) return node;
    return make_literal(*decimal, DataType::decimal(std::max(digits_of(*decimal), decimal->scale), decimal->scale));
  }
  if (type.type == Type::uint64 && node->op == Op::literal) {
    const auto* value = std::get_if<std::int64_t>(&node->value);
    if (value != nullptr && *value >= 0) return make_literal(static_cast<std::uint64_t>(*value), Type::uint64);
  }
  return node;
}

/// A type whose values are exact, as the decimal that holds them all.
DataType as_decimal(DataType type) {
  constexpr int kDigitsOfInt64 = 19;
  constexpr int kDigitsOfUint64 = 20;
  if (is_decimal(type.type)) return type;
  return DataType::decimal(type.type == Type::uint64 ? kDigitsOfUint64 : kDigitsOfInt64, 0);
}

/// A decimal with so many digits before and behind the point, or as many before as 38 digits leave.
DataType decimal_with(int before, int behind) {
  return DataType::decimal(std::clamp(before + behind, 1, kMaxDigits128), behind);
}

int digits_before_point(DataType decimal) { return decimal.precision - decimal.scale; }

/// The type that numbers of both types are brought to.
DataType number_type(DataType a, DataType b) {
  if (is_floating(a.type) || is_floating(b.type)) return Type::float64;
  if (is_decimal(a.type) || is_decimal(b.type)) {
    const DataType x = as_decimal(a);
    const DataType y = as_decimal(b);
    return decimal_with(std::max(digits_before_point(x), digits_before_point(y)), std::max(x.scale, y.scale));
  }
  return a.type == Type::uint64 && b.type == Type::uint64 ? Type::uint64 : Type::int64;
}

/// The type that values of both types are brought to, by `case`, `min`, `max` and `coalesce`.
std::optional<DataType> common_type(DataType a, DataType b) {
  if (a == b) return a;
  if (is_numeric(a.type) && is_numeric(b.type)) return number_type(a, b);
  if (a.type == Type::timestamp && b.type == Type::timestamp)
    return DataType(Type::timestamp, std::max(a.unit, b.unit));
  if (a.type == Type::timestamp && b.type == Type::date) return a;
  if (a.type == Type::date && b.type == Type::timestamp) return b;
  return std::nullopt;
}

bool comparable(Type a, Type b) {
  return a == b || (is_numeric(a) && is_numeric(b)) || (is_temporal(a) && is_temporal(b));
}

/// "int64, string and NULL".
std::string type_list(const std::vector<BoundPtr>& operands) {
  std::string text;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i > 0) text += i + 1 == operands.size() ? " and " : ", ";
    text += is_untyped(*operands[i]) ? "NULL" : to_string(operands[i]->type);
  }
  return text;
}

/// Returns advice on how to compare two types that are not comparable.
std::string comparison_hint(Type a, Type b) {
  if (is_temporal(b)) std::swap(a, b);
  if (is_temporal(a)) {
    return a == Type::date
               ? "compare a date with a date literal: date '2017-05-01'"
               : "compare a timestamp with a literal: timestamp '2017-05-01 12:00:00', or date '2017-05-01'";
  }
  if (a == Type::string || b == Type::string) return "a number stands without quotes, a string in them: 'text'";
  return "compare a boolean with true or false";
}

/// Explains a table that came out as one column because its file separates fields otherwise.
std::string other_delimiter(const std::vector<std::string>& names) {
  if (names.size() != 1) return {};
  const std::size_t place = names.front().find_first_of(";|\t,");
  if (place == std::string::npos) return {};
  const bool is_tab = names.front()[place] == '\t';
  const std::string delimiter = is_tab ? "tab" : in_quotes(names.front().substr(place, 1));
  return "; the table has one column, " + in_quotes(names.front()) + ", so its file seems to separate fields by " +
         (is_tab ? "a tab" : delimiter) + ": give the table the key delimiter: " + delimiter +
         ", 'sql' the option --delimiter " + delimiter +
         ", or Files in Python delimiter=" + (is_tab ? "'tab'" : delimiter);
}

/// Returns the end of the message why no value of `from` is cast to `to`; nothing where values are.
std::string_view advice_on_cast(DataType from, DataType to) {
  const bool is_same = from.type == to.type;
  const bool from_text = from.type == Type::string;
  if (to.type == Type::string || (is_same && !is_decimal(to.type))) return {};
  if (is_decimal(to.type)) {
    const bool is_exact = is_integer(from.type) || from_text || (is_decimal(from.type) && from.scale <= to.scale);
    if (is_exact) return {};
    return is_decimal(from.type) ? "; a cast drops no digits: round(x) has none behind the point"
                                 : "; decimals are made of integers, decimals and texts";
  }
  if (is_numeric(to.type)) {
    return is_numeric(from.type) || from_text || from.type == Type::boolean
               ? ""
               : "; year(x), month(x), day(x), ... and date - date are integers";
  }
  if (to.type == Type::boolean) return is_integer(from.type) || from_text ? "" : "; compare the value with something";
  return is_temporal(from.type) || from_text ? "" : "; dates are made of texts, such as '2017-05-01'";
}

class Binder {
 public:
  Binder(const Expression& expression, const SchemaPlaces& places)
      : origin_(expression.location()), places_(places), schema_(places.schema()) {}

  /// Recursion is bounded by the parser's kMaxHeight.
  BoundPtr bind(const Node& node) {
    if (node.op == Op::literal) return bind_literal(node.value);
    if (node.op == Op::column) return bind_column(node);
    return combine(node, bind_children(node));
  }

 private:
  [[noreturn]] void fail(const Node& node, const std::string& message) const {
    throw BindError(message, place_of(node, origin_));
  }

  BoundPtr combine(const Node& node, std::vector<BoundPtr> operands) {
    if (is_arithmetic(node.op)) return bind_arithmetic(node, std::move(operands));
    if (is_comparison(node.op)) return bind_comparison(node, std::move(operands));
    if (is_time_part(node.op)) return bind_date_part(node, std::move(operands));
    switch (node.op) {
      case Op::negate: return bind_negate(node, std::move(operands));
      case Op::in:
      case Op::between: return bind_comparison(node, std::move(operands));
      case Op::logical_and:
      case Op::logical_or:
      case Op::logical_not: return bind_logic(node, std::move(operands));
      case Op::is_null: return make_node(Op::is_null, Type::boolean, std::move(operands), node.negated);
      case Op::abs:
      case Op::floor:
      case Op::ceil:
      case Op::round: return bind_rounding(node, std::move(operands));
      case Op::bucket: return bind_bucket(node, std::move(operands));
      case Op::log_bucket: return bind_log_bucket(node, std::move(operands));
      case Op::sqrt:
      case Op::log:
      case Op::exp: return bind_real_function(node, std::move(operands));
      case Op::min:
      case Op::max:
      case Op::coalesce: return bind_choice(node, std::move(operands));
      case Op::length:
      case Op::lower:
      case Op::upper: return bind_text_function(node, std::move(operands));
      case Op::like: return bind_like(node, std::move(operands));
      case Op::case_when: return bind_case(node, std::move(operands));
      case Op::concat: return bind_concat(node, std::move(operands));
      case Op::cast: return bind_cast(node, std::move(operands));
      default: break;  // literals and columns have no operands to combine
    }
    fail(node, "unexpected " + in_quotes(spelling(node.op)));
  }

  std::vector<BoundPtr> bind_children(const Node& node) {
    std::vector<BoundPtr> bound;
    bound.reserve(node.children.size());
    const bool compared = is_comparison(node.op) || node.op == Op::in;
    for (const NodePtr& child : node.children) {
      bound.push_back(child->op == Op::column ? bind_column(*child, compared) : bind(*child));
    }
    return bound;
  }

  /// Finds the column of a name. If it is `compared`, a name that no column has may be a text without its quotes.
  BoundPtr bind_column(const Node& node, bool compared = false) {
    const std::optional<int> index = places_.find(node.name);
    if (!index) {
      std::vector<std::string> names;
      for (const Schema::Field& field : schema_.fields) names.push_back(field.name);
      const std::string near = did_you_mean(node.name, names);
      if (node.unreadable != nullptr) {
        const std::string& why = node.unreadable->message();
        const bool is_expression = near.empty() && is_call(node.name);
        throw QueryError(is_expression ? why : why + "; nor is there a column " + in_quotes(node.name) + near,
                         node.unreadable->location());
      }
      fail(node,
           "there is no column " + in_quotes(node.name) + near +
               (compared && near.empty() ? "; if it is a text, write " + in_quotes(node.name) + " in quotes" : "") +
               other_delimiter(names));
    }
    auto bound = std::make_shared<BoundNode>();
    bound->op = Op::column;
    bound->type = evaluation_type(schema_.fields[static_cast<std::size_t>(*index)].type);
    bound->column = *index;
    return bound;
  }

  BoundPtr bind_logic(const Node& node, std::vector<BoundPtr> operands) {
    for (BoundPtr& operand : operands) {
      operand = adapt(operand, Type::boolean);
      if (operand->type.type != Type::boolean) {
        fail(node, in_quotes(spelling(node.op)) + " needs conditions, got " + type_list(operands) +
                       "; compare the value with something, as in x > 0");
      }
    }
    return make_node(node.op, Type::boolean, std::move(operands));
  }

  void need_numbers(const Node& node, const std::vector<BoundPtr>& operands) const {
    for (const BoundPtr& operand : operands) {
      if (!is_numeric(operand->type.type)) {
        fail(node, in_quotes(spelling(node.op)) + (operands.size() == 1 ? " needs a number" : " needs numbers") +
                       ", got " + type_list(operands));
      }
    }
  }

  BoundPtr bind_negate(const Node& node, std::vector<BoundPtr> operands) {
    operands[0] = adapt(operands[0], Type::int64);
    need_numbers(node, operands);
    const DataType operand = operands[0]->type;
    const bool keeps = is_floating(operand.type) || is_decimal(operand.type);
    const DataType type = keeps ? operand : DataType(Type::int64);
    return make_node(Op::negate, type, std::move(operands));
  }

  BoundPtr bind_arithmetic(const Node& node, std::vector<BoundPtr> operands) {
    BoundPtr& a = operands[0];
    BoundPtr& b = operands[1];
    const bool null_a = is_untyped(*a);
    const bool null_b = is_untyped(*b);
    if (null_a && null_b) {
      a = adapt(a, Type::int64);
      b = adapt(b, Type::int64);
    } else if (null_a) {
      // A NULL beside a date may be days or a date; days keep `+` and `-` defined.
      a = adapt(a, b->type.type == Type::date && node.op == Op::add ? DataType(Type::int64) : b->type);
    } else if (null_b) {
      b = adapt(b, a->type.type == Type::date ? DataType(Type::int64) : a->type);
    } else {
      a = adapt(a, b->type);
      b = adapt(b, a->type);
    }
    if (is_numeric(a->type.type) && is_numeric(b->type.type)) {
      const DataType type = arithmetic_type(node, a->type, b->type);
      return make_node(node.op, type, std::move(operands));
    }
    return bind_date_arithmetic(node, std::move(operands));
  }

  /// Results of decimals have the digits that all their values need, as in SQL; a quotient is a float64.
  DataType arithmetic_type(const Node& node, DataType a, DataType b) const {
    const DataType common = number_type(a, b);
    if (common.type == Type::uint64 && node.op == Op::subtract) return Type::int64;
    if (!is_decimal(common.type)) return common;
    const DataType x = as_decimal(a);
    const DataType y = as_decimal(b);
    switch (node.op) {
      case Op::divide: return Type::float64;
      case Op::modulo: return decimal_with(std::min(digits_before_point(x), digits_before_point(y)), common.scale);
      case Op::multiply:
        if (x.scale + y.scale > kMaxDigits128) {
          fail(node, "'*' of " + to_string(x) + " and " + to_string(y) + " has " + std::to_string(x.scale + y.scale) +
                         " digits behind the point, and a decimal has at most 38; x / 1 is x as float64");
        }
        return decimal_with(digits_before_point(x) + digits_before_point(y), x.scale + y.scale);
      default: return decimal_with(digits_before_point(common) + 1, common.scale);
    }
  }

  BoundPtr bind_date_arithmetic(const Node& node, std::vector<BoundPtr> operands) {
    const Type a = operands[0]->type.type;
    const Type b = operands[1]->type.type;
    const bool days_after = a == Type::date && is_integer(b);
    if (node.op == Op::add && (days_after || (is_integer(a) && b == Type::date))) {
      return make_node(node.op, Type::date, std::move(operands));
    }
    if (node.op == Op::subtract) {
      if (days_after) return make_node(node.op, Type::date, std::move(operands));
      if (a == b && is_temporal(a)) return make_node(node.op, Type::int64, std::move(operands));
    }
    std::string hint;
    if (is_temporal(a) || is_temporal(b)) {
      hint = a == Type::timestamp || b == Type::timestamp
                 ? "; timestamps can be subtracted from each other (giving ticks) and compared"
                 : "; dates allow date + days, date - days and date - date";
    }
    fail(node, in_quotes(spelling(node.op)) + " needs numbers, got " + type_list(operands) + hint);
  }

  /// Comparison operators, `in` and `between`: all operands compare with the first.
  BoundPtr bind_comparison(const Node& node, std::vector<BoundPtr> operands) {
    DataType wanted = Type::int64;
    for (std::size_t i = operands.size(); i-- > 0;) {
      if (!is_untyped(*operands[i])) wanted = operands[i]->type;
    }
    for (BoundPtr& operand : operands) {
      if (is_untyped(*operand)) operand = adapt(operand, wanted);
    }
    adapt_to_decimals(operands);
    for (std::size_t i = 1; i < operands.size(); ++i) {
      const Type a = operands[0]->type.type;
      const Type b = operands[i]->type.type;
      if (!comparable(a, b)) {
        fail(operands.size() > 2 ? *node.children[i] : node,
             in_quotes(spelling(node.op)) + " cannot compare " + to_string(operands[0]->type) + " with " +
                 to_string(operands[i]->type) + "; " + comparison_hint(a, b));
      }
    }
    const auto refuse = [&](const std::string& message) { fail(node, message); };
    if (BoundPtr ordered = ordered_comparison(node.op, operands, node.negated, schema_, refuse)) return ordered;
    return make_node(node.op, Type::boolean, std::move(operands), node.negated);
  }

  /// A number that is compared with a decimal column is the decimal that its text says.
  static void adapt_to_decimals(std::vector<BoundPtr>& operands) {
    const auto is_decimal_node = [](const BoundPtr& operand) { return is_decimal(operand->type.type); };
    const auto is_float_column = [](const BoundPtr& operand) {
      return is_floating(operand->type.type) && operand->op != Op::literal;
    };
    const auto decimal = std::find_if(operands.begin() + 1, operands.end(), is_decimal_node);
    if (decimal != operands.end() && std::none_of(operands.begin() + 1, operands.end(), is_float_column)) {
      operands[0] = adapt(operands[0], (*decimal)->type);
    }
    if (!is_decimal_node(operands[0])) return;
    for (std::size_t i = 1; i < operands.size(); ++i) operands[i] = adapt(operands[i], operands[0]->type);
  }

  BoundPtr bind_rounding(const Node& node, std::vector<BoundPtr> operands) {
    operands[0] = adapt(operands[0], Type::int64);
    need_numbers(node, operands);
    DataType type = operands[0]->type;
    if (is_decimal(type.type) && node.op != Op::abs) type = decimal_with(digits_before_point(type) + 1, 0);
    return make_node(node.op, type, std::move(operands));
  }

  BoundPtr bind_real_function(const Node& node, std::vector<BoundPtr> operands) {
    operands[0] = adapt(operands[0], Type::float64);
    need_numbers(node, operands);
    return make_node(node.op, Type::float64, std::move(operands));
  }

  /// The size of boxes, or their ratio, which is a literal.
  const Value& box_size(const Node& node) const {
    const Node& size = *node.children[1];
    if (size.op != Op::literal) fail(size, in_quotes(spelling(node.op)) + " needs a number as it stands for its boxes");
    try {
      check_box_size(size.value, node.op == Op::log_bucket, size.value);
    } catch (const QueryError& error) {
      fail(size, error.message());
    }
    return size.value;
  }

  [[noreturn]] void fail_box_size(const Node& node, DataType of, std::string_view needed) const {
    fail(*node.children[1], "boxes of " + to_text(*node.children[0]) + " (" + to_string(of) + ") need " +
                                std::string(needed) + ", not " + spelled(node.children[1]->value));
  }

  /// The size of boxes in units of a type of integers, times 10^digits.
  struct BoxSize {
    Int128 size = 1;
    int digits = 0;
  };

  BoxSize box_size_of_times(const Node& node, DataType type, const Value& size) const {
    const bool is_date = type.type == Type::date;
    const auto* text = std::get_if<std::string>(&size);
    const auto days = decimal_of(size);
    const auto nanoseconds = text != nullptr   ? parse_nanoseconds(*text)
                             : is_date && days ? rescaled(*days, 0)
                                               : std::nullopt;
    const Int128 tick = text == nullptr ? 1 : nanoseconds_per_tick(type);
    if (!nanoseconds || *nanoseconds % tick != 0) {
      fail_box_size(node, type,
                    is_date ? "a whole number of days, such as 7 or '1w'" : "a time in whole ticks, such as '1h'");
    }
    return {.size = *nanoseconds / tick};
  }

  BoxSize box_size_of_numbers(const Node& node, DataType type, const Value& size) const {
    const auto number = decimal_of(size);
    if (!number && !double_of(size)) fail_box_size(node, type, "a number");
    const int scale = is_decimal(type.type) ? type.scale : 0;
    constexpr int kMaxSizeDigits = 36;  // a rest times 10 has 128 bits
    const Decimal unit{1, scale};
    if (!number || order(*number, unit) < 0 || digits_of(*number) > kMaxSizeDigits) {
      const bool large = !number ? *double_of(size) > 1 : order(*number, unit) >= 0;
      fail_box_size(node, type,
                    large ? "a size of at most 36 digits"
                          : "a size of at least " + format_decimal(unit) + "; every value has a box of its own there");
    }
    if (number->scale > scale) return {number->unscaled, number->scale - scale};
    return {rescaled(*number, scale).value_or(power_of_ten(kMaxDigits128) - 1), 0};
  }

  /// floor(value / size): of floats, these two operations.
  BoundPtr bind_bucket(const Node& node, std::vector<BoundPtr> operands) {
    const Value& size = box_size(node);
    const BoundPtr value = adapt(operands[0], Type::int64);
    const DataType type = value->type;
    if (!is_numeric(type.type) && !is_temporal(type.type)) {
      fail(node, "boxes are of numbers, dates and timestamps, not of " + to_text(*node.children[0]) + " (" +
                     to_string(type) + ")");
    }
    if (is_floating(type.type)) {
      const auto divisor = double_of(size);
      if (!divisor) fail_box_size(node, type, "a number");
      const BoundPtr quotient = make_node(Op::divide, Type::float64, {value, make_literal(*divisor, Type::float64)});
      return make_node(Op::floor, Type::float64, {quotient});
    }
    const BoxSize box =
        is_temporal(type.type) ? box_size_of_times(node, type, size) : box_size_of_numbers(node, type, size);
    const DataType result = is_decimal(type.type)       ? DataType::decimal(type.precision, 0)
                            : type.type == Type::uint64 ? Type::uint64
                                                        : Type::int64;
    return make_node(Op::bucket, result,
                     {value, make_literal(Decimal{box.size, 0}, DataType::decimal(kMaxDigits128, 0)),
                      make_literal(std::int64_t{box.digits}, Type::int64)});
  }

  BoundPtr bind_log_bucket(const Node& node, std::vector<BoundPtr> operands) {
    const auto ratio = decimal_of(box_size(node));
    if (!ratio) fail_box_size(node, operands[0]->type, "a ratio of at most 38 digits");
    operands[0] = adapt(operands[0], Type::float64);
    operands.pop_back();
    need_numbers(node, operands);
    operands.push_back(make_literal(*ratio, DataType::decimal(kMaxDigits128, ratio->scale)));
    return make_node(Op::log_bucket, Type::float64, std::move(operands));
  }

  /// The common type of the values at `places` of `operands`, which are brought as near to it as literals can be.
  DataType unify(const Node& node, std::vector<BoundPtr>& operands, const std::vector<std::size_t>& places) const {
    std::optional<DataType> type;
    // Literals last: a non-negative one adapts to the unsigned values before it.
    for (const bool literals : {false, true}) {
      for (const std::size_t place : places) {
        BoundPtr& operand = operands[place];
        if (is_untyped(*operand) || (operand->op == Op::literal) != literals) continue;
        if (type) operand = adapt(operand, *type);
        const std::optional<DataType> wider = type ? common_type(*type, operand->type) : operand->type;
        if (!wider) {
          fail(*node.children[place], in_quotes(spelling(node.op)) + " needs values of one type, got " +
                                          to_string(*type) + " and " + to_string(operand->type));
        }
        type = wider;
      }
    }
    const DataType result = type.value_or(Type::boolean);
    for (const std::size_t place : places) operands[place] = adapt(operands[place], result);
    return result;
  }

  BoundPtr bind_choice(const Node& node, std::vector<BoundPtr> operands) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < operands.size(); ++i) places.push_back(i);
    const DataType type = unify(node, operands, places);
    const bool chooses_by_order = node.op == Op::min || node.op == Op::max;
    if (chooses_by_order && std::ranges::any_of(operands, [&](const BoundPtr& o) { return has_order(*o, schema_); })) {
      fail(node, in_quotes(spelling(node.op)) + " compares texts by their bytes, and a column here has categories in " +
                     "an order of their own; compare them by 'case when'");
    }
    return make_node(node.op, type, std::move(operands));
  }

  BoundPtr bind_date_part(const Node& node, std::vector<BoundPtr> operands) {
    operands[0] = adapt(operands[0], Type::date);
    if (!is_temporal(operands[0]->type.type)) {
      fail(node, in_quotes(spelling(node.op)) + " needs a date or a timestamp, got " + type_list(operands));
    }
    return make_node(node.op, Type::int64, std::move(operands));
  }

  void need_texts(const Node& node, std::vector<BoundPtr>& operands) const {
    for (BoundPtr& operand : operands) operand = adapt(operand, Type::string);
    for (const BoundPtr& operand : operands) {
      if (operand->type.type == Type::string) continue;
      fail(node, in_quotes(spelling(node.op)) + (operands.size() == 1 ? " needs a string" : " needs strings") +
                     ", got " + type_list(operands));
    }
  }

  BoundPtr bind_text_function(const Node& node, std::vector<BoundPtr> operands) {
    need_texts(node, operands);
    const DataType type = node.op == Op::length ? Type::int64 : Type::string;
    return make_node(node.op, type, std::move(operands));
  }

  BoundPtr bind_like(const Node& node, std::vector<BoundPtr> operands) {
    need_texts(node, operands);
    return make_node(node.op, Type::boolean, std::move(operands), node.negated);
  }

  /// Values that are no texts are cast to texts; a truth is none, since `||` may have been meant as `or`.
  BoundPtr bind_concat(const Node& node, std::vector<BoundPtr> operands) {
    for (BoundPtr& operand : operands) {
      operand = adapt(operand, Type::string);
      if (operand->type.type == Type::boolean) {
        fail(node, "'||' joins texts, got " + type_list(operands) + "; between conditions write 'or'");
      }
      if (operand->type.type != Type::string) operand = make_node(Op::cast, Type::string, {operand});
    }
    return make_node(Op::concat, Type::string, std::move(operands));
  }

  BoundPtr bind_cast(const Node& node, std::vector<BoundPtr> operands) {
    DataType type = cast_type(node.name);
    BoundPtr& operand = operands[0] = adapt(operands[0], type);
    const DataType from = operand->type;
    if (type.type == Type::timestamp && is_temporal(from.type)) {
      type.unit = from.type == Type::date ? TimeUnit::second : from.unit;
    }
    if (const std::string_view advice = advice_on_cast(from, type); !advice.empty()) {
      fail(node, "no cast takes " + to_string(from) + " to " + node.name + std::string(advice));
    }
    return from == type && !is_narrower(*operand) ? operand : make_node(Op::cast, type, std::move(operands));
  }

  /// Returns true for a column whose stored type is narrower than its evaluation type.
  bool is_narrower(const BoundNode& node) const {
    return node.op == Op::column && schema_.fields[static_cast<std::size_t>(node.column)].type != node.type;
  }

  BoundPtr bind_case(const Node& node, std::vector<BoundPtr> operands) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i + 1 < operands.size(); i += 2) {
      operands[i] = adapt(operands[i], Type::boolean);
      if (operands[i]->type.type != Type::boolean) {
        fail(*node.children[i], "'when' needs a condition, got " + to_string(operands[i]->type));
      }
      places.push_back(i + 1);
    }
    if (operands.size() % 2 == 1) places.push_back(operands.size() - 1);
    const DataType type = unify(node, operands, places);
    return make_node(node.op, type, std::move(operands));
  }

  Location origin_;
  const SchemaPlaces& places_;
  const Schema& schema_;
};

}  // namespace

void check_condition(const BoundExpression& expression) {
  if (expression.type.type == Type::boolean) return;
  throw BindError("'where' needs a condition, not " + expression.text + " (" + to_string(expression.type) + ")",
                  expression.location);
}

BoundExpression bind_expression(const Expression& expression, const Schema& schema) {
  return bind_expression(expression, SchemaPlaces(schema));
}

BoundExpression bind_expression(const Expression& expression, const SchemaPlaces& places) {
  const Schema& schema = places.schema();
  BoundExpression bound;
  bound.root = Binder(expression, places).bind(root_of(expression));
  bound.type = bound.root->type;
  if (bound.root->op == Op::column) {
    bound.column = bound.root->column;
    bound.type = schema.fields[static_cast<std::size_t>(bound.column)].type;
  }
  bound.text = expression.text();
  bound.location = expression.location();
  return bound;
}

}  // namespace skyrank::query
