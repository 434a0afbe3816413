#include "engine/query/ast.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>

#include "engine/decimal.hpp"
#include "engine/query/sql_words.hpp"
#include "engine/text.hpp"
#include "engine/time.hpp"

namespace skyrank::query {
namespace {

constexpr std::array kFunctions = {
    FunctionInfo{"abs", Op::abs, 1, 1},
    FunctionInfo{"min", Op::min, 2, 0},
    FunctionInfo{"max", Op::max, 2, 0},
    FunctionInfo{"sqrt", Op::sqrt, 1, 1},
    FunctionInfo{"log", Op::log, 1, 1},
    FunctionInfo{"exp", Op::exp, 1, 1},
    FunctionInfo{"floor", Op::floor, 1, 1},
    FunctionInfo{"ceil", Op::ceil, 1, 1},
    FunctionInfo{"round", Op::round, 1, 1},
    FunctionInfo{"bucket", Op::bucket, 2, 2},
    FunctionInfo{"log_bucket", Op::log_bucket, 2, 2},
    FunctionInfo{"coalesce", Op::coalesce, 1, 0},
    FunctionInfo{"year", Op::year, 1, 1},
    FunctionInfo{"month", Op::month, 1, 1},
    FunctionInfo{"day", Op::day, 1, 1},
    FunctionInfo{"hour", Op::hour, 1, 1},
    FunctionInfo{"minute", Op::minute, 1, 1},
    FunctionInfo{"second", Op::second, 1, 1},
    FunctionInfo{"weekday", Op::weekday, 1, 1},
    FunctionInfo{"length", Op::length, 1, 1},
    FunctionInfo{"lower", Op::lower, 1, 1},
    FunctionInfo{"upper", Op::upper, 1, 1},
};

constexpr std::array<std::string_view, 14> kReservedWords = {"and",  "or",    "not",  "in",   "between", "is",   "null",
                                                             "true", "false", "case", "when", "then",    "else", "end"};

constexpr std::array kRowFunctions = {
    RowFunction{"row"},
    RowFunction{"level"},
    RowFunction{"score"},
    RowFunction{"dominated_by"},
    RowFunction{"dominates"},
    RowFunction{"crowding"},
    RowFunction{"contribution", true},
    RowFunction{"compromise", true},
};
constexpr std::array<std::string_view, 3> kPseudoColumns = {"row", "level", "score"};

// How tightly a node binds; an operand that binds less tightly than its place asks for is put in parentheses.
enum Level : int { kOr = 1, kAnd, kNot, kPredicate, kSum, kProduct, kUnary, kPrimary };

struct OpInfo {
  std::string_view spelling;
  Level level;
};

// The operations before the functions, by their places in Op.
constexpr std::array kOps = {
    OpInfo{"literal", kPrimary},
    OpInfo{"column", kPrimary},
    OpInfo{"-", kUnary},
    OpInfo{"+", kSum},
    OpInfo{"-", kSum},
    OpInfo{"*", kProduct},
    OpInfo{"/", kProduct},
    OpInfo{"%", kProduct},
    OpInfo{"=", kPredicate},
    OpInfo{"!=", kPredicate},
    OpInfo{"<", kPredicate},
    OpInfo{"<=", kPredicate},
    OpInfo{">", kPredicate},
    OpInfo{">=", kPredicate},
    OpInfo{"and", kAnd},
    OpInfo{"or", kOr},
    OpInfo{"not", kNot},
    OpInfo{"in", kPredicate},
    OpInfo{"between", kPredicate},
    OpInfo{"is null", kPredicate},
    OpInfo{"like", kPredicate},
    OpInfo{"||", kSum},
};
static_assert(kOps.size() == static_cast<std::size_t>(kFunctions.front().op));
static_assert(kOps.size() + kFunctions.size() == static_cast<std::size_t>(Op::case_when));

OpInfo info_of(Op op) {
  const auto place = static_cast<std::size_t>(op);
  if (place < kOps.size()) return kOps[place];
  const std::size_t function = place - kOps.size();
  if (function < kFunctions.size()) return {kFunctions[function].name, kPrimary};
  return {op == Op::case_when ? "case" : "cast", kPrimary};
}

bool is_negative_number(const Value& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return *i < 0;
  if (const auto* d = std::get_if<double>(&value)) return std::signbit(*d);
  if (const auto* d = std::get_if<Decimal>(&value)) return d->unscaled < 0;
  return false;
}

Level level_of(const Node& node) {
  return node.op == Op::literal && is_negative_number(node.value) ? kUnary : info_of(node.op).level;
}

std::string between_quotes(std::string_view text, char quote) {
  std::string result(1, quote);
  for (const char c : text) {
    if (c == quote) result += quote;
    result += c;
  }
  return result + quote;
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && !is_digit(name.front()) && std::ranges::all_of(name, is_name_character) &&
         !is_one_of(name, kReservedWords);
}

// A float is told from an integer by its point or exponent.
std::string float_text(double value) {
  std::string text = format_number(value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

struct LiteralText {
  std::string operator()(Null) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(std::uint64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return float_text(value); }
  std::string operator()(Date value) const { return "date '" + format_date(value) + "'"; }
  std::string operator()(Timestamp value) const { return "timestamp '" + format_timestamp(value) + "'"; }
  std::string operator()(const std::string& value) const { return between_quotes(value, '\''); }
  std::string operator()(Decimal value) const { return format_decimal(value) + (value.scale == 0 ? ".0" : ""); }
};

class Printer {
 public:
  explicit Printer(bool sql) : sql_(sql) {}

  std::string text() && { return std::move(text_); }

  void print(const Node& node, int at_least) {
    const bool parentheses = level_of(node) < at_least;
    if (parentheses) text_ += '(';
    print(node);
    if (parentheses) text_ += ')';
  }

 private:
  void print(const Node& node) {
    switch (node.op) {
      case Op::literal: text_ += std::visit(LiteralText{}, node.value); return;
      case Op::column: return print_name(node);
      case Op::negate: return print_negation(*node.children[0]);
      case Op::logical_not: print_words("not "); return print(*node.children[0], kNot);
      case Op::in:
        print(*node.children[0], kSum);
        print_words(node.negated ? " not in " : " in ");
        text_ += sql_ ? '(' : '[';
        print_list(node, 1);
        text_ += sql_ ? ')' : ']';
        return;
      case Op::between:
        print(*node.children[0], kSum);
        print_words(node.negated ? " not between " : " between ");
        print(*node.children[1], kSum);
        print_words(" and ");
        return print(*node.children[2], kSum);
      case Op::like:
        print(*node.children[0], kSum);
        print_words(node.negated ? " not like " : " like ");
        return print(*node.children[1], kSum);
      case Op::is_null: print(*node.children[0], kSum); return print_words(node.negated ? " is not null" : " is null");
      case Op::case_when: return print_case(node);
      case Op::cast:
        print_words("cast(");
        print(*node.children[0], kOr);
        print_words(" as ");
        text_ += node.name + ')';
        return;
      default: return level_of(node) == kPrimary ? print_call(node) : print_binary(node);
    }
  }

  void print_words(std::string_view words) { text_ += sql_ ? in_capitals(words) : std::string(words); }

  void print_name(const Node& node) {
    const bool plain = is_plain_name(node.name) || is_pseudo_column(node.name);
    const bool bare = !node.exact && plain && !(sql_ && is_sql_keyword(node.name));
    text_ += bare ? node.name : between_quotes(node.name, sql_ ? '"' : '`');
  }

  // `-5` is a literal, so the negation of the literal 5 is written `-(5)`. Two minus signs begin a comment in SQL.
  void print_negation(const Node& operand) {
    text_ += '-';
    const bool number =
        operand.op == Op::literal && level_of(operand) == kPrimary &&
        (std::holds_alternative<std::int64_t>(operand.value) || std::holds_alternative<std::uint64_t>(operand.value) ||
         std::holds_alternative<double>(operand.value) || std::holds_alternative<Decimal>(operand.value));
    print(operand, number ? kPrimary + 1 : sql_ ? kPrimary : kUnary);
  }

  // Chains lean to the left; comparisons do not chain at all.
  void print_binary(const Node& node) {
    const int level = level_of(node);
    print(*node.children[0], level == kPredicate ? level + 1 : level);
    text_ += ' ';
    print_words(spelling(node.op));
    text_ += ' ';
    print(*node.children[1], level + 1);
  }

  void print_call(const Node& node) {
    text_.append(spelling(node.op)) += '(';
    print_list(node, 0);
    text_ += ')';
  }

  void print_list(const Node& node, std::size_t first) {
    for (std::size_t i = first; i < node.children.size(); ++i) {
      if (i != first) text_ += ", ";
      print(*node.children[i], kOr);
    }
  }

  void print_case(const Node& node) {
    print_words("case");
    std::size_t i = 0;
    for (; i + 1 < node.children.size(); i += 2) {
      print_words(" when ");
      print(*node.children[i], kOr);
      print_words(" then ");
      print(*node.children[i + 1], kOr);
    }
    if (i < node.children.size()) {
      print_words(" else ");
      print(*node.children[i], kOr);
    }
    print_words(" end");
  }

  std::string text_;
  bool sql_;
};

// Compares values as stored: 0.0 and -0.0 are different literals.
bool same_literal(const Value& a, const Value& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  if (x != nullptr && y != nullptr) return std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);
  return a == b;
}

}  // namespace

std::span<const FunctionInfo> functions() { return kFunctions; }

std::span<const std::string_view> reserved_words() { return kReservedWords; }

Location place_of(const Node& node, const Location& origin) {
  return node.line > 0 ? Location{origin.source, node.line, node.column} : origin;
}

std::span<const RowFunction> row_functions() { return kRowFunctions; }

bool is_pseudo_column(std::string_view name) {
  const std::size_t open = name.find('(');
  if (open == std::string_view::npos) return std::ranges::find(kPseudoColumns, name) != kPseudoColumns.end();
  const auto function = std::ranges::find(kRowFunctions, name.substr(0, open), &RowFunction::name);
  if (function == kRowFunctions.end() || !name.ends_with(')')) return false;
  return function->takes_numbers || open + 2 == name.size();
}

bool equal(const Node& a, const Node& b) {
  return a.op == b.op && same_literal(a.value, b.value) && a.name == b.name && a.exact == b.exact &&
         a.negated == b.negated &&
         std::equal(a.children.begin(), a.children.end(), b.children.begin(), b.children.end(),
                    [](const NodePtr& x, const NodePtr& y) { return x == y || equal(*x, *y); });
}

std::string to_text(const Node& node) {
  Printer printer(false);
  printer.print(node, kOr);
  return std::move(printer).text();
}

std::string to_sql_text(const Node& node, bool as_operand) {
  Printer printer(true);
  printer.print(node, as_operand ? kSum : kOr);
  return std::move(printer).text();
}

std::string_view spelling(Op op) { return info_of(op).spelling; }

Op exchanged(Op comparison) {
  switch (comparison) {
    case Op::less: return Op::greater;
    case Op::less_equal: return Op::greater_equal;
    case Op::greater: return Op::less;
    case Op::greater_equal: return Op::less_equal;
    default: return comparison;
  }
}

}  // namespace skyrank::query
