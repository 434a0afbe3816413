#include "tests/differential/oracle/expression.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

namespace skyrank::differential {
namespace {

constexpr Integer kMinInt64 = std::numeric_limits<std::int64_t>::min();
constexpr Integer kMaxInt64 = std::numeric_limits<std::int64_t>::max();
constexpr Integer kMaxUint64 = std::numeric_limits<std::uint64_t>::max();

Integer floor_divide(Integer a, Integer b) { return a / b - (a % b < 0 ? 1 : 0); }

// ---- Domains ----

Kind number_kind(Kind a, Kind b) {
  if (a == Kind::float64 || b == Kind::float64) return Kind::float64;
  return a == Kind::uint64 && b == Kind::uint64 ? Kind::uint64 : Kind::int64;
}

Domain common_domain(Domain a, Domain b) {
  if (is_number(a.kind) && is_number(b.kind)) return {number_kind(a.kind, b.kind)};
  if (a.kind == Kind::timestamp && b.kind == Kind::timestamp) {
    return {Kind::timestamp, std::min(a.ns_per_tick, b.ns_per_tick)};
  }
  if (a == b) return a;
  throw std::logic_error("no common type");
}

/// A non-negative integer literal beside an unsigned value is unsigned.
bool adapts_to_unsigned(const Expression& e) {
  const auto* value = std::get_if<Integer>(&e.literal);
  return e.op == Op::literal && e.domain.kind == Kind::int64 && value != nullptr && *value >= 0;
}

Domain common_domain(const std::vector<ExpressionPtr>& values) {
  std::vector<ExpressionPtr> typed;
  for (const bool literals : {false, true}) {
    for (const ExpressionPtr& value : values) {
      const bool untyped = value->op == Op::literal && is_null(value->literal);
      if (!untyped && (value->op == Op::literal) == literals) typed.push_back(value);
    }
  }
  Domain domain = typed.front()->domain;
  for (std::size_t i = 1; i < typed.size(); ++i) {
    const bool unsigned_literal = domain.kind == Kind::uint64 && adapts_to_unsigned(*typed[i]);
    domain = common_domain(domain, unsigned_literal ? domain : typed[i]->domain);
  }
  return domain;
}

Domain arithmetic_domain(Op op, const Expression& a, const Expression& b) {
  if (is_number(a.domain.kind) && is_number(b.domain.kind)) {
    Kind kind = number_kind(a.domain.kind, b.domain.kind);
    if ((adapts_to_unsigned(a) && b.domain.kind == Kind::uint64) ||
        (adapts_to_unsigned(b) && a.domain.kind == Kind::uint64)) {
      kind = Kind::uint64;
    }
    // A difference of unsigned numbers may be negative.
    return {op == Op::subtract && kind == Kind::uint64 ? Kind::int64 : kind};
  }
  const bool difference = op == Op::subtract && a.domain.kind == b.domain.kind;
  return {difference ? Kind::int64 : Kind::date};
}

std::vector<ExpressionPtr> choices(const std::vector<ExpressionPtr>& operands) {
  std::vector<ExpressionPtr> values;
  for (std::size_t i = 1; i < operands.size(); i += 2) values.push_back(operands[i]);
  if (operands.size() % 2 == 1) values.push_back(operands.back());
  return values;
}

Domain domain_of(Op op, const std::vector<ExpressionPtr>& operands) {
  switch (op) {
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::modulo: return arithmetic_domain(op, *operands[0], *operands[1]);
    case Op::negate: return {operands[0]->domain.kind == Kind::float64 ? Kind::float64 : Kind::int64};
    case Op::abs:
    case Op::floor:
    case Op::ceil: return operands[0]->domain;
    case Op::sqrt:
    case Op::log:
    case Op::exp:
    case Op::log_bucket: return {Kind::float64};
    case Op::bucket: {
      const Kind kind = operands[0]->domain.kind;
      return {is_number(kind) ? kind : Kind::int64};
    }
    case Op::min:
    case Op::max: return common_domain(operands);
    case Op::case_when: return common_domain(choices(operands));
    default: return {Kind::boolean};
  }
}

// ---- Text ----

const char* symbol_of(Op op) {
  switch (op) {
    case Op::add: return "+";
    case Op::subtract: return "-";
    case Op::multiply: return "*";
    case Op::divide: return "/";
    case Op::modulo: return "%";
    case Op::equal: return "=";
    case Op::not_equal: return "!=";
    case Op::less: return "<";
    case Op::less_equal: return "<=";
    case Op::greater: return ">";
    case Op::greater_equal: return ">=";
    case Op::logical_and: return "and";
    case Op::logical_or: return "or";
    case Op::abs: return "abs";
    case Op::floor: return "floor";
    case Op::ceil: return "ceil";
    case Op::sqrt: return "sqrt";
    case Op::log: return "log";
    case Op::exp: return "exp";
    case Op::min: return "min";
    case Op::max: return "max";
    case Op::bucket: return "bucket";
    case Op::log_bucket: return "log_bucket";
    default: return "?";
  }
}

std::string listed(const std::vector<ExpressionPtr>& operands, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < operands.size(); ++i) text += (i > from ? ", " : "") + operands[i]->text;
  return text;
}

std::string case_text(const std::vector<ExpressionPtr>& operands) {
  std::string text = "case";
  for (std::size_t i = 0; i + 1 < operands.size(); i += 2) {
    text += " when " + operands[i]->text + " then " + operands[i + 1]->text;
  }
  if (operands.size() % 2 == 1) text += " else " + operands.back()->text;
  return text + " end";
}

std::string text_of(Op op, const std::vector<ExpressionPtr>& operands, bool negated) {
  const std::string& first = operands[0]->text;
  const std::string no = negated ? " not " : " ";
  switch (op) {
    case Op::negate: return "(- (" + first + "))";  // beside a literal the sign is part of it
    case Op::logical_not: return "(not " + first + ")";
    case Op::is_null: return "(" + first + (negated ? " is not null)" : " is null)");
    case Op::between: return "(" + first + no + "between " + operands[1]->text + " and " + operands[2]->text + ")";
    case Op::in: return "(" + first + no + "in [" + listed(operands, 1) + "])";
    case Op::case_when: return case_text(operands);
    case Op::abs:
    case Op::floor:
    case Op::ceil:
    case Op::sqrt:
    case Op::log:
    case Op::exp:
    case Op::min:
    case Op::max:
    case Op::bucket:
    case Op::log_bucket: return std::string(symbol_of(op)) + "(" + listed(operands, 0) + ")";
    default: return "(" + first + " " + symbol_of(op) + " " + operands[1]->text + ")";
  }
}

// ---- Values ----

Integer checked(Integer value, Integer lowest, Integer highest) {
  if (value < lowest || value > highest) throw Undefined("overflow");
  return value;
}

Integer checked(Integer value, Kind kind) {
  return kind == Kind::uint64 ? checked(value, 0, kMaxUint64) : checked(value, kMinInt64, kMaxInt64);
}

/// A value as one of another domain.
Cell converted(const Cell& cell, Domain domain) {
  if (is_null(cell)) return cell;
  if (domain.kind == Kind::float64) return as_double(cell);
  if (is_integer(domain.kind)) return checked(std::get<Integer>(cell), domain.kind);
  if (domain.kind == Kind::timestamp) {
    checked(std::get<Moment>(cell).ns / domain.ns_per_tick, kMinInt64, kMaxInt64);
  }
  return cell;
}

Cell float_arithmetic(Op op, double a, double b) {
  switch (op) {
    case Op::add: return a + b;
    case Op::subtract: return a - b;
    case Op::multiply: return a * b;
    case Op::divide: return a / b;
    default: return std::fmod(a, b);
  }
}

Cell integer_arithmetic(Op op, Integer a, Integer b, Kind kind) {
  if ((op == Op::divide || op == Op::modulo) && b == 0) throw Undefined("division by zero");
  switch (op) {
    case Op::add: return checked(a + b, kind);
    case Op::subtract: return checked(a - b, kind);
    case Op::multiply: {
      Integer product = 0;
      if (__builtin_mul_overflow(a, b, &product)) throw Undefined("overflow");
      return checked(product, kind);
    }
    case Op::divide: return checked(a / b, kind);
    default: return checked(a % b, kind);
  }
}

Cell date_of(Integer days) {
  return Day{checked(days, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max())};
}

Cell time_arithmetic(const Expression& e, const Cell& a, const Cell& b) {
  if (std::holds_alternative<Moment>(a)) {
    const Domain finer = common_domain(e.operands[0]->domain, e.operands[1]->domain);
    converted(a, finer);
    converted(b, finer);
    return checked((std::get<Moment>(a).ns - std::get<Moment>(b).ns) / finer.ns_per_tick, Kind::int64);
  }
  const auto* day_a = std::get_if<Day>(&a);
  const auto* day_b = std::get_if<Day>(&b);
  if (day_a != nullptr && day_b != nullptr) return day_a->number - day_b->number;
  if (day_a == nullptr) return date_of(day_b->number + std::get<Integer>(a));
  return date_of(day_a->number + (e.op == Op::add ? 1 : -1) * std::get<Integer>(b));
}

Cell arithmetic(const Expression& e, const Cell& a, const Cell& b) {
  if (is_null(a) || is_null(b)) return {};
  if (is_time(e.operands[0]->domain.kind) || is_time(e.operands[1]->domain.kind)) return time_arithmetic(e, a, b);
  if (e.domain.kind == Kind::float64) return float_arithmetic(e.op, as_double(a), as_double(b));
  return integer_arithmetic(e.op, std::get<Integer>(a), std::get<Integer>(b), e.domain.kind);
}

Cell function(const Expression& e, const Cell& x) {
  if (is_null(x)) return {};
  if (const auto* integer = std::get_if<Integer>(&x)) {
    if (e.op == Op::negate) return checked(-*integer, e.domain.kind);
    if (e.op == Op::abs) return checked(*integer < 0 ? -*integer : *integer, e.domain.kind);
    if (e.op == Op::floor || e.op == Op::ceil) return x;
  }
  const double value = as_double(x);
  switch (e.op) {
    case Op::negate: return -value;
    case Op::abs: return std::abs(value);
    case Op::floor: return std::floor(value);
    case Op::ceil: return std::ceil(value);
    case Op::sqrt: return std::sqrt(value);
    case Op::log: return std::log(value);
    default: return std::exp(value);
  }
}

Cell extreme(const Expression& e, const Row& row) {
  Cell best;
  bool first = true;
  bool any_null = false;
  bool any_nan = false;
  for (const ExpressionPtr& operand : e.operands) {
    const Cell original = evaluate(*operand, row);
    if (is_null(original)) {
      any_null = true;
      continue;
    }
    if (is_nan(original)) {
      any_nan = true;
      continue;
    }
    // The least integer fits where one of the operands is signed.
    const Cell value = e.domain.kind == Kind::float64 ? converted(original, e.domain) : original;
    const Ordering order = first ? Ordering::equal : compare(value, best);
    const bool zeros = order == Ordering::equal && !first && std::holds_alternative<double>(value) &&
                       std::signbit(std::get<double>(value)) != std::signbit(std::get<double>(best));
    if (zeros) throw Undefined("either zero");
    if (first || order == (e.op == Op::min ? Ordering::less : Ordering::greater)) best = value;
    first = false;
  }
  if (any_null) return {};
  if (any_nan) return std::numeric_limits<double>::quiet_NaN();
  return converted(best, e.domain);
}

bool holds(Op op, Ordering order) {
  switch (op) {
    case Op::equal: return order == Ordering::equal;
    case Op::not_equal: return order != Ordering::equal;
    case Op::less: return order == Ordering::less;
    case Op::less_equal: return order == Ordering::less || order == Ordering::equal;
    case Op::greater: return order == Ordering::greater;
    default: return order == Ordering::greater || order == Ordering::equal;
  }
}

Cell compared(Op op, const Cell& a, const Cell& b) {
  if (is_null(a) || is_null(b)) return {};
  return holds(op, compare(a, b));
}

Cell both(const Cell& a, const Cell& b) {
  const bool any_false = (!is_null(a) && !std::get<bool>(a)) || (!is_null(b) && !std::get<bool>(b));
  if (any_false) return false;
  if (is_null(a) || is_null(b)) return {};
  return true;
}

Cell opposite(const Cell& a) {
  if (is_null(a)) return a;
  return !std::get<bool>(a);
}

Cell either(const Cell& a, const Cell& b) { return opposite(both(opposite(a), opposite(b))); }

Cell membership(const Expression& e, const Row& row) {
  const Cell value = evaluate(*e.operands[0], row);
  Cell found = false;
  for (std::size_t i = 1; i < e.operands.size(); ++i) {
    found = either(found, compared(Op::equal, value, evaluate(*e.operands[i], row)));
  }
  return e.negated ? opposite(found) : found;
}

Cell within(const Expression& e, const Row& row) {
  const Cell value = evaluate(*e.operands[0], row);
  const Cell inside = both(compared(Op::greater_equal, value, evaluate(*e.operands[1], row)),
                           compared(Op::less_equal, value, evaluate(*e.operands[2], row)));
  return e.negated ? opposite(inside) : inside;
}

Cell choice(const Expression& e, const Row& row) {
  for (std::size_t i = 0; i + 1 < e.operands.size(); i += 2) {
    const Cell condition = evaluate(*e.operands[i], row);
    if (!is_null(condition) && std::get<bool>(condition)) return converted(evaluate(*e.operands[i + 1], row), e.domain);
  }
  if (e.operands.size() % 2 == 0) return {};
  return converted(evaluate(*e.operands.back(), row), e.domain);
}

long double exact(const Cell& cell) {
  static_assert(std::numeric_limits<long double>::digits >= 64, "holds every int64, uint64 and double");
  if (const auto* integer = std::get_if<Integer>(&cell)) return static_cast<long double>(*integer);
  return static_cast<long double>(std::get<double>(cell));
}

Integer instant(const Cell& cell) {
  if (const auto* day = std::get_if<Day>(&cell)) return day->number * kNsPerDay;
  return std::get<Moment>(cell).ns;
}

template <class T>
Ordering three_way(const T& a, const T& b) {
  if (a < b) return Ordering::less;
  if (b < a) return Ordering::greater;
  return a == b ? Ordering::equal : Ordering::unordered;
}

}  // namespace

ExpressionPtr literal(const Cell& value, Domain domain) {
  return std::make_shared<Expression>(
      Expression{.op = Op::literal, .domain = domain, .literal = value, .text = spelled(value, domain)});
}

ExpressionPtr column(std::size_t index, Domain domain, const std::string& name) {
  return std::make_shared<Expression>(
      Expression{.op = Op::column, .domain = domain, .column = index, .text = "`" + name + "`"});
}

ExpressionPtr operation(Op op, std::vector<ExpressionPtr> operands, bool negated) {
  const Domain domain = domain_of(op, operands);
  std::string text = text_of(op, operands, negated);
  return std::make_shared<Expression>(Expression{
      .op = op, .domain = domain, .operands = std::move(operands), .negated = negated, .text = std::move(text)});
}

Cell evaluate(const Expression& e, const Row& row) {
  switch (e.op) {
    case Op::literal: return e.literal;
    case Op::column: return row[e.column];
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::modulo: return arithmetic(e, evaluate(*e.operands[0], row), evaluate(*e.operands[1], row));
    case Op::negate:
    case Op::abs:
    case Op::floor:
    case Op::ceil:
    case Op::sqrt:
    case Op::log:
    case Op::exp: return function(e, evaluate(*e.operands[0], row));
    case Op::min:
    case Op::max: return extreme(e, row);
    case Op::equal:
    case Op::not_equal:
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal: return compared(e.op, evaluate(*e.operands[0], row), evaluate(*e.operands[1], row));
    case Op::between: return within(e, row);
    case Op::in: return membership(e, row);
    case Op::is_null: return is_null(evaluate(*e.operands[0], row)) != e.negated;
    case Op::logical_and: return both(evaluate(*e.operands[0], row), evaluate(*e.operands[1], row));
    case Op::logical_or: return either(evaluate(*e.operands[0], row), evaluate(*e.operands[1], row));
    case Op::logical_not: return opposite(evaluate(*e.operands[0], row));
    case Op::case_when: return choice(e, row);
    case Op::bucket:
    case Op::log_bucket: return box_of(e, evaluate(*e.operands[0], row));
  }
  throw std::logic_error("an operation without meaning");
}

double as_double(const Cell& cell) {
  if (const auto* integer = std::get_if<Integer>(&cell)) return static_cast<double>(*integer);
  return std::get<double>(cell);
}

bool is_nan(const Cell& cell) {
  const auto* value = std::get_if<double>(&cell);
  return value != nullptr && std::isnan(*value);
}

Ordering compare(const Cell& a, const Cell& b) {
  if (const auto* text = std::get_if<std::string>(&a)) return three_way(*text, std::get<std::string>(b));
  if (const auto* truth = std::get_if<bool>(&a)) return three_way(*truth, std::get<bool>(b));
  if (std::holds_alternative<Day>(a) || std::holds_alternative<Moment>(a)) return three_way(instant(a), instant(b));
  return three_way(exact(a), exact(b));
}

std::string spelled(Integer value) {
  if (value < 0) return "-" + spelled(-value);
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value > 0);
  return digits;
}

std::string spelled(double value) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  std::string result(text.data(), end);
  if (result.find_first_of(".en") == std::string::npos) result += ".0";
  return result;
}

std::string spelled_date(Integer days) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{static_cast<int>(days)}}};
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return text.data();
}

std::string spelled_moment(Integer ns, std::int64_t ns_per_tick) {
  const Integer day = floor_divide(ns, kNsPerDay);
  const Integer in_day = ns - day * kNsPerDay;
  const auto second = static_cast<long long>(in_day / 1'000'000'000);
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), " %02lld:%02lld:%02lld", second / 3600, second / 60 % 60, second % 60);
  std::string result = spelled_date(day) + text.data();
  const int digits = ns_per_tick == 1 ? 9 : ns_per_tick == 1000 ? 6 : ns_per_tick == 1'000'000 ? 3 : 0;
  if (digits == 0) return result;
  std::snprintf(text.data(), text.size(), "%09lld", static_cast<long long>(in_day % 1'000'000'000));
  return result + "." + std::string(text.data()).substr(0, static_cast<std::size_t>(digits));
}

std::string spelled(const Cell& value, Domain domain) {
  struct Speller {
    Domain domain;
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool truth) const { return truth ? "true" : "false"; }
    std::string operator()(Integer integer) const {
      return integer < 0 ? "(" + spelled(integer) + ")" : spelled(integer);
    }
    std::string operator()(double number) const {
      return std::signbit(number) ? "(" + spelled(number) + ")" : spelled(number);
    }
    std::string operator()(Day day) const { return "date '" + spelled_date(day.number) + "'"; }
    std::string operator()(Moment moment) const {
      return "timestamp '" + spelled_moment(moment.ns, domain.ns_per_tick) + "'";
    }
    std::string operator()(const std::string& text) const {
      std::string quoted = "'";
      for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
      return quoted + "'";
    }
  };
  return std::visit(Speller{domain}, value);
}

}  // namespace skyrank::differential
