#include "engine/query/parser/tree_builder.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include <skyrank/error.hpp>

#include "engine/decimal.hpp"
#include "engine/query/parser/messages.hpp"
#include "engine/query/values.hpp"
#include "engine/text.hpp"
#include "engine/time.hpp"

namespace skyrank::query {
namespace {

constexpr std::size_t kMaxEchoed = 40;

/// Takes the nodes of an expression off those left. Returns false where they do not suffice, or where it has a CASE.
bool take_nodes(const Node& node, int& left) {
  if (node.op == Op::case_when || --left < 0) return false;
  return std::ranges::all_of(node.children, [&](const NodePtr& child) { return take_nodes(*child, left); });
}

/// Returns true for an expression that may be repeated for each of many values.
bool is_small(const Node& node) {
  int left = 16;
  return take_nodes(node, left);
}

/// A function of other SQL systems, and what to write instead.
struct ForeignFunction {
  std::string_view name;
  std::string_view advice;
};

constexpr std::string_view kOtherAggregates = "aggregates are count, sum, min, max and avg; an SQL engine has others";
constexpr ForeignFunction kForeignFunctions[] = {
    {"greatest", "write max(a, b)"},
    {"least", "write min(a, b)"},
    {"ifnull", "write coalesce(a, b)"},
    {"nvl", "write coalesce(a, b)"},
    {"ln", "log is the natural logarithm"},
    {"ceiling", "write ceil"},
    {"pow", "write a product, or exp(y * log(x))"},
    {"power", "write a product, or exp(y * log(x))"},
    {"lcase", "write lower"},
    {"ucase", "write upper"},
    {"len", "write length"},
    {"if", "write case when c then a else b end"},
    {"iif", "write case when c then a else b end"},
    {"concat", "write a || b"},
    {"try_cast", "write cast(e as type), guarded by 'case when'"},
    {"extract", "write year(e), month(e), day(e), ..."},
    {"median", kOtherAggregates},
    {"stddev", kOtherAggregates},
    {"variance", kOtherAggregates},
};

/// Returns what to write instead of a function of another system, or the nearest name of ours.
std::string advice_for(std::string_view name, const std::vector<std::string>& names) {
  for (const ForeignFunction& foreign : kForeignFunctions) {
    if (equal_ignoring_case(foreign.name, name)) return std::string("; ").append(foreign.advice);
  }
  return did_you_mean(name, names);
}

std::string arity_message(const FunctionInfo& function, std::size_t count) {
  const bool open_ended = function.max_arguments == 0;
  std::string message = in_quotes(function.name) + " takes " + (open_ended ? "at least " : "") +
                        std::to_string(function.min_arguments) +
                        (function.min_arguments == 1 ? " argument" : " arguments") + ", found " + std::to_string(count);
  if (open_ended && count == 1)
    message += " (the " + std::string(function.name) + " of a group stands under `aggregate`)";
  return message;
}

}  // namespace

bool TreeBuilder::is_reserved_at(std::size_t offset) const {
  return sql_ && offset < text_.size() && is_one_of(token_at(text_, offset), sql_words_);
}

void TreeBuilder::fail(std::size_t offset, const std::string& message) const {
  throw QueryError(message, place_(offset));
}

void TreeBuilder::fail_expecting(std::size_t offset, std::string_view expected) const {
  const bool value_expected = expected == kValue;
  const std::string_view before = token_before(text_, offset);
  std::string message = std::string("expected ").append(expected);
  if (!before.empty()) message += " after " + in_quotes(before);
  if (offset >= text_.size()) {
    fail(offset, message + ", found the end of the " + (sql_ ? "statement" : "expression"));
  }
  const std::string_view found = token_at(text_, offset);
  if (sql_ && value_expected && (is_one_of(found, sql_words_) || is_reserved_word(found))) {
    fail(offset, message + ", found " + in_quotes(found) + " (a column of that name stands in double quotes)");
  }
  std::string advice = hint(found, value_expected);
  if (advice.empty() && !value_expected && is_bare_name(before) && is_bare_name(found)) {
    advice = " (a name with spaces stands in backquotes)";
  }
  const std::size_t quotes = advice.find("backquotes");
  if (sql_ && quotes != std::string::npos) advice.replace(quotes, std::strlen("backquotes"), "double quotes");
  fail(offset, message + ", found " + shown(found) + advice);
}

void TreeBuilder::fail_unclosed() const {
  fail(quote_,
       std::string(text_[quote_] == '\'' ? "the string" : "the quoted name") + " that begins here does not end");
}

void TreeBuilder::enter(std::size_t offset) {
  if (++nesting_ > kMaxNesting) {
    fail(offset, "the expression is nested more than " + std::to_string(kMaxNesting) + " levels deep");
  }
}

void TreeBuilder::push_literal(std::size_t offset, Value value) {
  Node node;
  node.value = std::move(value);
  push(offset, std::move(node), 1);
}

void TreeBuilder::push_number(std::size_t offset, std::string_view text) { push_literal(offset, number(offset, text)); }

void TreeBuilder::push_quoted(std::size_t offset, std::string_view inner) {
  const char quote = text_[offset - 1];
  if (quote == '\'') return push_literal(offset - 1, unquoted(inner, quote));
  push_column(offset - 1, unquoted(inner, quote), true);
}

void TreeBuilder::push_column(std::size_t offset, std::string name, bool in_quotes) {
  if (name.empty()) fail(offset, "a column name is empty");
  Node node;
  node.op = Op::column;
  node.exact = in_quotes && is_pseudo_column(name);
  node.name = std::move(name);
  push(offset, std::move(node), 1);
}

void TreeBuilder::combine(Op op, std::size_t count, bool negated) {
  const Item& first = items_[items_.size() - count];
  combine_at(first.offset, op, count, negated);
}

void TreeBuilder::combine_at(std::size_t offset, Op op, std::size_t count, bool negated) {
  combine_named(offset, {}, op, count, negated);
}

void TreeBuilder::combine_named(std::size_t offset, std::string name, Op op, std::size_t count, bool negated) {
  Node node;
  node.name = std::move(name);
  node.op = op;
  node.negated = negated;
  int height = 0;
  const auto begin = items_.end() - static_cast<std::ptrdiff_t>(count);
  for (auto item = begin; item != items_.end(); ++item) {
    height = std::max(height, item->height);
    node.children.push_back(std::move(item->node));
  }
  items_.erase(begin, items_.end());
  if (height >= kMaxHeight) {
    fail(offset, "the expression chains more than " + std::to_string(kMaxHeight) +
                     " operators; use `in` for many alternatives, or parentheses to split it");
  }
  push(offset, std::move(node), height + 1);
}

void TreeBuilder::negate_number() {
  Item& item = items_.back();
  Node node = *item.node;
  node.value = negated_number(item.offset, node.value);
  item.node = std::make_shared<const Node>(std::move(node));
}

void TreeBuilder::close(Op op, std::size_t outside, bool negated) {
  const Mark mark = marks_.back();
  marks_.pop_back();
  const std::size_t count = items_.size() - mark.items + outside;
  combine_at(outside == 0 ? mark.offset : items_[items_.size() - count].offset, op, count, negated);
}

void TreeBuilder::close_simple_case() {
  const std::size_t begin = marks_.back().items;
  const Item value = items_[begin];
  if (!is_small(*value.node)) {
    fail(value.offset,
         "'case' compares a column or a short computation with the values behind 'when'; write case when");
  }
  items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(begin));
  for (std::size_t when = begin; when + 1 < items_.size(); when += 2) {
    Item& item = items_[when];
    Node equal;
    equal.op = Op::equal;
    equal.children = {value.node, item.node};
    const Location place = place_(item.offset);
    equal.line = place.line;
    equal.column = place.column;
    item.node = std::make_shared<const Node>(std::move(equal));
    item.height = std::max(item.height, value.height) + 1;
  }
  close(Op::case_when, 0, false);
}

void TreeBuilder::open_call(std::size_t offset, std::string_view text) {
  const std::string_view name = text.substr(0, text.find_first_of(" \t\r\n\v\f("));
  const auto of_rows = std::ranges::find_if(
      row_functions(), [&](const RowFunction& function) { return equal_ignoring_case(function.name, name); });
  calls_.push_back(of_rows != row_functions().end() ? Call{nullptr, &*of_rows}
                                                    : Call{&find_function(offset, name), nullptr});
  open(offset);
}

void TreeBuilder::close_call() {
  const Call call = calls_.back();
  calls_.pop_back();
  if (call.of_rows != nullptr) return close_call_of_rows(*call.of_rows);
  const FunctionInfo& function = *call.of_values;
  const std::size_t count = items_.size() - marks_.back().items;
  if (count < function.min_arguments || (function.max_arguments != 0 && count > function.max_arguments)) {
    fail(marks_.back().offset, arity_message(function, count));
  }
  close(function.op, 0, false);
}

void TreeBuilder::close_call_of_rows(const RowFunction& function) {
  const Mark mark = marks_.back();
  marks_.pop_back();
  Node node;
  node.op = Op::column;
  node.name = function.name;
  node.name += '(';
  for (auto item = items_.begin() + static_cast<std::ptrdiff_t>(mark.items); item != items_.end(); ++item) {
    if (!function.takes_numbers) fail(mark.offset, in_quotes(node.name + ")") + " takes no argument");
    if (item->node->op != Op::literal || !double_of(item->node->value)) {
      fail(item->offset, in_quotes(function.name) + " takes numbers, such as " + std::string(function.name) +
                             "(1, 0.5), not " + to_text(*item->node));
    }
    if (!node.children.empty()) node.name += ", ";
    node.name += to_text(*item->node);
    node.children.push_back(item->node);
  }
  node.name += ')';
  items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(mark.items), items_.end());
  push(mark.offset, std::move(node), 1);
}

void TreeBuilder::push(std::size_t offset, Node node, int height) {
  const Location place = place_(offset);
  node.line = place.line;
  node.column = place.column;
  items_.push_back({std::make_shared<const Node>(std::move(node)), offset, height});
}

Value TreeBuilder::number(std::size_t offset, std::string_view text) const {
  const char* const end = text.data() + text.size();
  if (text.find_first_of(".eE") == std::string_view::npos) {
    std::uint64_t integer = 0;
    // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): the end is given
    if (std::from_chars(text.data(), end, integer).ec == std::errc()) {
      return std::in_range<std::int64_t>(integer) ? Value(static_cast<std::int64_t>(integer)) : Value(integer);
    }
    fail(offset, std::string(text.substr(0, 40)) + " is out of range: integers go up to 18446744073709551615; " +
                     "with a decimal point it is a float, and exact beside decimals");
  }
  double value = 0;
  // from_chars wants a digit before the point.
  const std::string padded = "0" + std::string(text);
  if (std::from_chars(padded.data(), padded.data() + padded.size(), value).ec != std::errc()) {
    fail(offset, std::string(text.substr(0, 40)) + " is out of range: floats go from 5e-324 to 1.8e308");
  }
  // Beside decimals the digits count that the float loses.
  if (const std::optional<Decimal> decimal = parse_decimal(text)) return float_if_it_tells(*decimal);
  return value;
}

Value TreeBuilder::negated_number(std::size_t offset, const Value& value) const {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return -*i;
  if (const auto* d = std::get_if<double>(&value)) return -*d;
  if (const auto* d = std::get_if<Decimal>(&value)) return Decimal{-d->unscaled, d->scale};
  constexpr std::uint64_t kMagnitudeOfMin = std::uint64_t{1} << 63;
  const std::uint64_t magnitude = std::get<std::uint64_t>(value);
  if (magnitude != kMagnitudeOfMin) {
    fail(offset, "-" + std::to_string(magnitude) + " is out of range: integers go down to -9223372036854775808");
  }
  return std::numeric_limits<std::int64_t>::min();
}

const FunctionInfo& TreeBuilder::find_function(std::size_t offset, std::string_view name) const {
  std::vector<std::string> names;
  for (const FunctionInfo& function : functions()) {
    if (equal_ignoring_case(function.name, name)) return function;
    names.emplace_back(function.name);
  }
  std::vector<std::string> near = names;
  for (const RowFunction& function : row_functions()) near.emplace_back(function.name);
  fail(offset, "there is no function " + in_quotes(name.substr(0, 40)) + advice_for(name, near) + " (functions are " +
                   listed(names) + ")");
}

template <class Parse>
void TreeBuilder::convert_string(std::size_t offset, Parse parse, const char* what, const char* example) {
  const Item item = std::move(items_.back());
  items_.pop_back();
  const std::string& text = std::get<std::string>(item.node->value);
  const auto value = parse(text);
  if (!value) fail(item.offset, in_quotes(text) + " is no " + what + "; write it like '" + example + "'");
  push_literal(offset, *value);
}

void TreeBuilder::make_cast(std::size_t begin, std::size_t offset, std::string_view type) {
  std::string name = cast_type_name(type);
  if (name.empty()) {
    fail(offset, "there is no type " + in_quotes(type.substr(0, kMaxEchoed)) + " to cast to; types are " +
                     "int64, uint64, float64, decimal(p, s), bool, string, date and timestamp");
  }
  combine_named(begin, std::move(name), Op::cast, 1, false);
}

void TreeBuilder::close_cast(std::size_t offset, std::string_view type) {
  const std::size_t begin = marks_.back().offset;
  marks_.pop_back();
  make_cast(begin, offset, type);
}

void TreeBuilder::cast_last(std::size_t offset, std::string_view type) {
  make_cast(items_.back().offset, offset, type);
}

void TreeBuilder::escape_pattern() {
  const Item item = std::move(items_.back());
  items_.pop_back();
  const auto& escape = std::get<std::string>(item.node->value);
  const auto begins_character = [](char c) { return !continues_character(c); };
  if (std::ranges::count_if(escape, begins_character) != 1) {
    fail(item.offset, "'escape' needs one character, such as '!', found " + in_quotes(escape.substr(0, kMaxEchoed)));
  }
  Item& pattern = items_.back();
  const auto* text = std::get_if<std::string>(&pattern.node->value);
  if (text == nullptr) fail(pattern.offset, "a pattern before 'escape' stands in quotes as it is");
  Node node = *pattern.node;
  std::string written;
  for (std::size_t i = 0; i < text->size(); ++i) {
    const bool escapes = std::string_view(*text).substr(i).starts_with(escape);
    if (escapes) i += escape.size();
    const std::string_view rest = std::string_view(*text).substr(i);
    if (escapes && !rest.starts_with('%') && !rest.starts_with('_') && !rest.starts_with(escape)) {
      fail(pattern.offset, in_quotes(escape) + " escapes '%', '_' and itself, and stands before another character in " +
                               in_quotes(text->substr(0, kMaxEchoed)));
    }
    const bool is_wildcard = rest.front() == '%' || rest.front() == '_';
    if ((escapes && is_wildcard) || rest.front() == '\\') written += '\\';
    written += rest.front();
  }
  node.value = std::move(written);
  pattern.node = std::make_shared<const Node>(std::move(node));
}

void TreeBuilder::make_date(std::size_t offset) { convert_string(offset, parse_date, "date", "2017-05-01"); }

void TreeBuilder::make_timestamp(std::size_t offset) {
  convert_string(offset, parse_timestamp, "timestamp", "2017-05-01 12:00:00");
}

}  // namespace skyrank::query
