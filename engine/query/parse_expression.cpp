#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <tao/pegtl.hpp>
#include <utility>
#include <vector>

#include "engine/decimal.hpp"
#include "engine/query/ast.hpp"
#include "engine/query/functions.hpp"
#include "engine/query/places.hpp"
#include "engine/query/utf8.hpp"
#include "engine/query/values.hpp"
#include "engine/text.hpp"
#include "engine/time.hpp"

// Grammar rules bear lower-case names, as PEGTL's own do.
// NOLINTBEGIN(readability-identifier-naming)
namespace skyrank::query {
namespace {

namespace peg = tao::pegtl;

// The grammar. From loosest to tightest: or, and, not, one predicate (comparison, in, between, is null), sum, product,
// minus sign, primary. No rule with an action is ever backtracked over: where alternatives share a beginning, a rule
// without actions decides, and `if_must` commits.
namespace grammar {

struct spaces : peg::star<peg::space> {};
template <class... Rules>
struct token : peg::seq<Rules..., spaces> {};
template <char... Characters>
struct symbol : token<peg::string<Characters...>> {};
struct word_end : peg::not_at<peg::identifier_other> {};
template <char... Characters>
struct word : token<peg::istring<Characters...>, word_end> {};

struct word_and : word<'a', 'n', 'd'> {};
struct word_or : word<'o', 'r'> {};
struct word_not : word<'n', 'o', 't'> {};
struct word_in : word<'i', 'n'> {};
struct word_between : word<'b', 'e', 't', 'w', 'e', 'e', 'n'> {};
struct word_is : word<'i', 's'> {};
struct word_null : word<'n', 'u', 'l', 'l'> {};
struct word_true : word<'t', 'r', 'u', 'e'> {};
struct word_false : word<'f', 'a', 'l', 's', 'e'> {};
struct word_case : word<'c', 'a', 's', 'e'> {};
struct word_when : word<'w', 'h', 'e', 'n'> {};
struct word_then : word<'t', 'h', 'e', 'n'> {};
struct word_else : word<'e', 'l', 's', 'e'> {};
struct word_end_case : word<'e', 'n', 'd'> {};
struct reserved : peg::sor<word_and, word_or, word_not, word_in, word_between, word_is, word_null, word_true,
                           word_false, word_case, word_when, word_then, word_else, word_end_case> {};

struct disjunction;
struct negation;
struct signed_value;
struct nested : peg::seq<disjunction> {};                // one level deeper: inside brackets, arguments, case
struct nested_negation : peg::seq<negation> {};          // after `not`
struct nested_signed_value : peg::seq<signed_value> {};  // after `-`

// Primaries.
struct digits : peg::plus<peg::digit> {};
struct exponent : peg::seq<peg::one<'e', 'E'>, peg::opt<peg::one<'+', '-'>>, digits> {};
struct fraction : peg::seq<peg::one<'.'>, peg::star<peg::digit>> {};
struct number_text
    : peg::seq<peg::sor<peg::seq<digits, peg::opt<fraction>>, peg::seq<peg::one<'.'>, digits>>, peg::opt<exponent>> {};
struct number : token<number_text> {};

struct string_text : peg::star<peg::sor<peg::two<'\''>, peg::not_one<'\''>>> {};
struct string_open : peg::one<'\''> {};
struct string_close : peg::one<'\''> {};
struct string : token<peg::if_must<string_open, string_text, string_close>> {};

// Rules of SQL statements, which ask the builder whether there is one.
struct only_in_sql {
  using rule_t = only_in_sql;
  using subs_t = peg::empty_list;
  template <peg::apply_mode, peg::rewind_mode, template <class...> class, template <class...> class, class Input,
            class Builder>
  static bool match(Input& /*in*/, Builder& builder) {
    return builder.is_sql();
  }
};
// A word that the statement reserves; consumes nothing.
struct sql_word {
  using rule_t = sql_word;
  using subs_t = peg::empty_list;
  template <peg::apply_mode, peg::rewind_mode, template <class...> class, template <class...> class, class Input,
            class Builder>
  static bool match(Input& in, Builder& builder) {
    return builder.is_reserved_at(in.byte());
  }
};
struct sql_name_text : peg::star<peg::sor<peg::two<'"'>, peg::not_one<'"'>>> {};
struct sql_name_open : peg::one<'"'> {};
struct sql_name_close : peg::one<'"'> {};

struct name_text : peg::star<peg::sor<peg::two<'`'>, peg::not_one<'`'>>> {};
struct name_open : peg::one<'`'> {};
struct name_close : peg::one<'`'> {};
struct quoted_name : token<peg::if_must<name_open, name_text, name_close>> {};
struct sql_quoted_name : peg::seq<only_in_sql, token<peg::if_must<sql_name_open, sql_name_text, sql_name_close>>> {};
struct bare_name : peg::identifier {};
struct name : token<peg::not_at<reserved>, peg::not_at<sql_word>, bare_name> {};

struct date_word : peg::seq<peg::istring<'d', 'a', 't', 'e'>, spaces, peg::at<string_open>> {};
struct date : peg::if_must<date_word, string> {};
struct timestamp_word
    : peg::seq<peg::istring<'t', 'i', 'm', 'e', 's', 't', 'a', 'm', 'p'>, spaces, peg::at<string_open>> {};
struct timestamp : peg::if_must<timestamp_word, string> {};

struct open_group : symbol<'('> {};
struct close_group : symbol<')'> {};
struct group : peg::if_must<open_group, nested, close_group> {};

struct comma : symbol<','> {};
struct items : peg::list_must<nested, comma> {};
struct function_name : peg::seq<peg::not_at<reserved>, peg::not_at<sql_word>, peg::identifier> {};
struct open_call : token<function_name, spaces, peg::one<'('>> {};
struct close_call : symbol<')'> {};
struct call : peg::if_must<open_call, peg::opt<peg::not_at<close_call>, peg::must<items>>, close_call> {};

struct open_case : word_case {};
struct first_when : word_when {};
struct first_branch : peg::must<first_when, nested, word_then, nested> {};
struct branch : peg::if_must<word_when, nested, word_then, nested> {};
struct otherwise : peg::if_must<word_else, nested> {};
struct close_case : word_end_case {};
struct case_when : peg::if_must<open_case, first_branch, peg::star<branch>, peg::opt<otherwise>, close_case> {};

struct true_value : word_true {};
struct false_value : word_false {};
struct null_value : word_null {};

struct primary : peg::sor<number, string, quoted_name, sql_quoted_name, group, true_value, false_value, null_value,
                          date, timestamp, case_when, call, name> {};

// Arithmetic.
struct minus : symbol<'-'> {};
struct negative_number : peg::seq<minus, number> {};
struct negative_value : peg::if_must<minus, nested_signed_value> {};
struct signed_value : peg::sor<negative_number, negative_value, primary> {};

struct times : peg::if_must<symbol<'*'>, signed_value> {};
struct over : peg::if_must<symbol<'/'>, signed_value> {};
struct remainder : peg::if_must<symbol<'%'>, signed_value> {};
struct product : peg::seq<signed_value, peg::star<peg::sor<times, over, remainder>>> {};

struct plus : peg::if_must<symbol<'+'>, product> {};
struct less_by : peg::if_must<symbol<'-'>, product> {};
struct sum : peg::seq<product, peg::star<peg::sor<plus, less_by>>> {};

// Predicates: at most one after a sum.
struct is_equal : peg::if_must<peg::sor<symbol<'=', '='>, symbol<'='>>, sum> {};
struct is_not_equal : peg::if_must<peg::sor<symbol<'!', '='>, symbol<'<', '>'>>, sum> {};
struct is_less_equal : peg::if_must<symbol<'<', '='>, sum> {};
struct is_less : peg::if_must<symbol<'<'>, sum> {};
struct is_greater_equal : peg::if_must<symbol<'>', '='>, sum> {};
struct is_greater : peg::if_must<symbol<'>'>, sum> {};

struct close_bracket : symbol<']'> {};
struct close_list : symbol<')'> {};
struct bracket_list : peg::if_must<symbol<'['>, items, close_bracket> {};
struct round_list : peg::if_must<symbol<'('>, items, close_list> {};
struct list : peg::sor<bracket_list, round_list> {};
struct begin_in : word_in {};
struct begin_not_in : peg::seq<word_not, word_in> {};
struct is_in : peg::if_must<begin_in, list> {};
struct is_not_in : peg::if_must<begin_not_in, list> {};

struct range_and : word_and {};
struct is_between : peg::if_must<word_between, sum, range_and, sum> {};
struct is_not_between : peg::if_must<peg::seq<word_not, word_between>, sum, range_and, sum> {};

struct null_test : peg::seq<word_null> {};
struct not_null_test : peg::seq<word_not, word_null> {};
struct null_tests : peg::sor<null_test, not_null_test> {};
struct is_null : peg::if_must<word_is, null_tests> {};

struct predicate : peg::seq<sum, peg::opt<peg::sor<is_not_equal, is_less_equal, is_less, is_greater_equal, is_greater,
                                                   is_equal, is_between, is_not_between, is_in, is_not_in, is_null>>> {
};

// Logic.
struct negated : peg::if_must<word_not, nested_negation> {};
struct negation : peg::sor<negated, predicate> {};
struct and_also : peg::if_must<word_and, negation> {};
struct conjunction : peg::seq<negation, peg::star<and_also>> {};
struct or_else : peg::if_must<word_or, conjunction> {};
struct disjunction : peg::seq<conjunction, peg::star<or_else>> {};

struct end_of_text : peg::eof {};
struct whole : peg::seq<spaces, peg::must<disjunction, end_of_text>> {};
struct prefix : peg::seq<spaces, peg::must<disjunction>> {};

}  // namespace grammar

// What the parser says it wants where a rule fails that must not; everything else is the place of a value.
template <class Rule>
constexpr const char* kExpected = "a value";
template <>
constexpr const char* kExpected<grammar::end_of_text> = "an operator";
template <>
constexpr const char* kExpected<grammar::close_group> = "an operator or ')'";
template <>
constexpr const char* kExpected<grammar::close_call> = "an operator, ',' or ')'";
template <>
constexpr const char* kExpected<grammar::close_list> = "an operator, ',' or ')'";
template <>
constexpr const char* kExpected<grammar::close_bracket> = "an operator, ',' or ']'";
template <>
constexpr const char* kExpected<grammar::list> = "'['";
template <>
constexpr const char* kExpected<grammar::null_tests> = "'null' or 'not null'";
template <>
constexpr const char* kExpected<grammar::range_and> = "'and' and the upper end of the range";
template <>
constexpr const char* kExpected<grammar::first_when> = "'when'";
template <>
constexpr const char* kExpected<grammar::word_then> = "an operator or 'then'";
template <>
constexpr const char* kExpected<grammar::close_case> = "an operator, 'when', 'else' or 'end'";

bool is_word_character(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

bool is_double_symbol(std::string_view text) {
  constexpr std::array<std::string_view, 9> kSymbols = {"<=", ">=", "<>", "!=", "==", "&&", "||", "**", "=>"};
  return std::find(kSymbols.begin(), kSymbols.end(), text) != kSymbols.end();
}

// The word, symbol or character that begins at `offset`, for messages: not more than a line's worth.
std::string_view token_at(std::string_view text, std::size_t offset) {
  constexpr std::size_t kLongest = 40;
  std::size_t end = offset;
  while (end < text.size() && end - offset < kLongest && is_word_character(text[end])) ++end;
  if (end > offset) return text.substr(offset, end - offset);
  if (is_double_symbol(text.substr(offset, 2))) return text.substr(offset, 2);
  ++end;
  while (end < text.size() && is_continuation(text[end])) ++end;
  return text.substr(offset, end - offset);
}

// The word or symbol before `offset`; empty at the beginning and after strings and quoted names.
std::string_view token_before(std::string_view text, std::size_t offset) {
  const std::size_t last = text.substr(0, offset).find_last_not_of(" \t\r\n\v\f");
  if (last == std::string_view::npos) return {};
  std::size_t begin = last;
  while (begin > 0 && is_word_character(text[begin]) && is_word_character(text[begin - 1])) --begin;
  if (begin == last && last > 0 && is_double_symbol(text.substr(last - 1, 2))) --begin;
  const std::string_view token = text.substr(begin, last + 1 - begin);
  return token == "'" || token == "`" || token == "\"" || static_cast<unsigned char>(token.front()) >= 0x80
             ? std::string_view()
             : token;
}

bool is_reserved_word(std::string_view word) {
  const auto words = reserved_words();
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view reserved) { return equal_ignoring_case(reserved, word); });
}

// What would be right, where the mistake is one that other languages teach.
std::string hint(std::string_view found, bool value_expected) {
  struct Hint {
    std::string_view found;
    std::string_view advice;
  };
  constexpr std::array<Hint, 8> kHints = {{{"&&", "write 'and'"},
                                           {"||", "write 'or'"},
                                           {"!", "write 'not', or '!=' between two values"},
                                           {"\"", "strings stand in single quotes, names with spaces in backquotes"},
                                           {"**", "there is no power operator: multiply, or use exp and log"},
                                           {"=>", "write '>='"},
                                           {";", "an expression has no ';'"},
                                           {"{", "lists stand in brackets: [a, b]"}}};
  constexpr std::array<std::string_view, 9> kComparisons = {"=", "==", "!=", "<>", "<", "<=", ">", ">=", "between"};
  for (const Hint& known : kHints) {
    if (known.found == found) return std::string(" (").append(known.advice) + ")";
  }
  if (!value_expected && std::find(kComparisons.begin(), kComparisons.end(), found) != kComparisons.end()) {
    return " (comparisons do not chain: join them with 'and')";
  }
  if (static_cast<unsigned char>(found.front()) >= 0x80 && !find_invalid_utf8(found)) {
    return " (a name with other characters than letters, digits and _ stands in backquotes)";
  }
  if (value_expected && equal_ignoring_case(found, "not")) return " (put 'not' and its condition in parentheses)";
  if (value_expected && is_reserved_word(found)) {
    return " (a column of that name stands in backquotes)";
  }
  return {};
}

std::string in_quotes(std::string_view text) { return std::string("'").append(text) + "'"; }

// A token for a message, which must stay readable text whatever the input was.
std::string shown(std::string_view token) {
  const auto byte = static_cast<unsigned char>(token.front());
  if (byte < 0x20 || byte == 0x7F) return "the control character " + std::to_string(static_cast<int>(byte));
  if (find_invalid_utf8(token)) return "a byte that is not UTF-8";
  return in_quotes(token);
}

// Undoes the doubling of the quote inside a quoted text.
std::string unquoted(std::string_view inner, char quote) {
  std::string result;
  result.reserve(inner.size());
  for (std::size_t i = 0; i < inner.size(); ++i) {
    result += inner[i];
    if (inner[i] == quote) ++i;
  }
  return result;
}

// Builds the tree bottom-up: finished operands lie on a stack; a mark remembers where a list of them begins.
class Builder {
 public:
  Builder(std::string_view text, const PlaceFunction& place) : text_(text), place_(place) {}
  Builder(std::string_view text, const PlaceFunction& place, std::span<const std::string_view> sql_words)
      : text_(text), place_(place), sql_(true), sql_words_(sql_words) {}

  bool is_sql() const { return sql_; }
  bool is_reserved_at(std::size_t offset) const {
    return sql_ && offset < text_.size() && is_reserved(token_at(text_, offset));
  }

  [[noreturn]] void fail(std::size_t offset, const std::string& message) const {
    throw QueryError(message, place_(offset));
  }

  [[noreturn]] void fail_expecting(std::size_t offset, const char* expected) const {
    const std::string_view before = token_before(text_, offset);
    std::string message = std::string("expected ") + expected;
    if (!before.empty()) message += " after " + in_quotes(before);
    if (offset >= text_.size()) {
      fail(offset, message + ", found the end of the " + (sql_ ? "statement" : "expression"));
    }
    const std::string_view found = token_at(text_, offset);
    if (sql_ && value_expected(expected) && (is_reserved(found) || is_reserved_word(found))) {
      fail(offset, message + ", found " + in_quotes(found) + " (a column of that name stands in double quotes)");
    }
    std::string advice = hint(found, value_expected(expected));
    const std::size_t quotes = advice.find("backquotes");
    if (sql_ && quotes != std::string::npos) advice.replace(quotes, std::strlen("backquotes"), "double quotes");
    fail(offset, message + ", found " + shown(found) + advice);
  }

  void enter(std::size_t offset) {
    if (++nesting_ > kMaxNesting) {
      fail(offset, "the expression is nested more than " + std::to_string(kMaxNesting) + " levels deep");
    }
  }
  void leave() { --nesting_; }

  void push_literal(std::size_t offset, Value value) {
    Node node;
    node.value = std::move(value);
    push(offset, std::move(node), 1);
  }

  void push_column(std::size_t offset, std::string name, bool in_backquotes) {
    if (name.empty()) fail(offset, "a column name is empty");
    Node node;
    node.op = Op::column;
    node.exact = in_backquotes && is_pseudo_column(name);
    node.name = std::move(name);
    push(offset, std::move(node), 1);
  }

  // Replaces the last `count` operands by one node over them; it begins where its first operand does.
  void combine(Op op, std::size_t count, bool negated = false) {
    const Item& first = items_[items_.size() - count];
    combine_at(first.offset, op, count, negated);
  }

  void combine_at(std::size_t offset, Op op, std::size_t count, bool negated = false) {
    Node node;
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

  void negate_number() {
    Item& item = items_.back();
    Node node = *item.node;
    node.value = negated_number(item.offset, node.value);
    item.node = std::make_shared<const Node>(std::move(node));
  }

  void open(std::size_t offset) { marks_.push_back({offset, items_.size()}); }

  // Closes the list that was opened last, over `outside` operands before it as well.
  void close(Op op, std::size_t outside = 0, bool negated = false) {
    const Mark mark = marks_.back();
    marks_.pop_back();
    const std::size_t count = items_.size() - mark.items + outside;
    combine_at(outside == 0 ? mark.offset : items_[items_.size() - count].offset, op, count, negated);
  }

  // row(), level() and score() are pseudo-columns whatever the table stores; their calls have no function.
  void open_call(std::size_t offset, std::string_view name) {
    pseudo_ = equal_ignoring_case(name, "row")     ? "row()"
              : equal_ignoring_case(name, "level") ? "level()"
              : equal_ignoring_case(name, "score") ? "score()"
                                                   : "";
    calls_.push_back(pseudo_.empty() ? &find_function(offset, name) : nullptr);
    open(offset);
  }

  void close_call() {
    if (calls_.back() == nullptr) return close_pseudo_column();
    const FunctionInfo& function = *calls_.back();
    calls_.pop_back();
    const std::size_t count = items_.size() - marks_.back().items;
    if (count < function.min_arguments || (function.max_arguments != 0 && count > function.max_arguments)) {
      fail(marks_.back().offset, arity_message(function, count));
    }
    close(function.op);
  }

  void close_pseudo_column() {
    const Mark mark = marks_.back();
    if (items_.size() != mark.items) fail(mark.offset, "'row()', 'level()' and 'score()' take no argument");
    calls_.pop_back();
    marks_.pop_back();
    push_column(mark.offset, std::string(pseudo_), false);
  }

  template <class Parse>
  void convert_string(std::size_t offset, Parse parse, const char* what, const char* example) {
    const Item item = std::move(items_.back());
    items_.pop_back();
    const std::string& text = std::get<std::string>(item.node->value);
    const auto value = parse(text);
    if (!value) fail(item.offset, in_quotes(text) + " is no " + what + "; write it like '" + example + "'");
    push_literal(offset, *value);
  }

  void push_number(std::size_t offset, std::string_view text) { push_literal(offset, number(offset, text)); }

  void begin_quoted(std::size_t offset) { quote_ = offset; }
  [[noreturn]] void fail_unclosed(const char* what) const {
    fail(quote_, std::string(what) + " that begins here does not end");
  }

  NodePtr result() && { return std::move(items_.back().node); }

 private:
  struct Item {
    NodePtr node;
    std::size_t offset;
    int height;
  };
  struct Mark {
    std::size_t offset;
    std::size_t items;
  };

  static bool value_expected(const char* expected) { return expected == kExpected<grammar::sum>; }

  bool is_reserved(std::string_view word) const {
    return std::any_of(sql_words_.begin(), sql_words_.end(),
                       [&](std::string_view reserved) { return equal_ignoring_case(reserved, word); });
  }

  void push(std::size_t offset, Node node, int height) {
    const Location place = place_(offset);
    node.line = place.line;
    node.column = place.column;
    items_.push_back({std::make_shared<const Node>(std::move(node)), offset, height});
  }

  Value number(std::size_t offset, std::string_view text) const {
    const char* const end = text.data() + text.size();
    if (text.find_first_of(".eE") == std::string_view::npos) {
      std::uint64_t integer = 0;
      if (std::from_chars(text.data(), end, integer).ec == std::errc()) {
        return std::in_range<std::int64_t>(integer) ? Value(static_cast<std::int64_t>(integer)) : Value(integer);
      }
      fail(offset, std::string(text.substr(0, 40)) + " is out of range: integers go up to 18446744073709551615; " +
                       "with a decimal point it is a float");
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

  Value negated_number(std::size_t offset, const Value& value) const {
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

  const FunctionInfo& find_function(std::size_t offset, std::string_view name) const {
    std::vector<std::string> names;
    for (const FunctionInfo& function : functions()) {
      if (equal_ignoring_case(function.name, name)) return function;
      names.emplace_back(function.name);
    }
    std::string list;
    for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
    fail(offset, "there is no function " + in_quotes(name.substr(0, 40)) + did_you_mean(name, names) +
                     " (functions are " + list + ")");
  }

  static std::string arity_message(const FunctionInfo& function, std::size_t count) {
    const bool open_ended = function.max_arguments == 0;
    std::string message = in_quotes(function.name) + " takes " + (open_ended ? "at least " : "") +
                          std::to_string(function.min_arguments) +
                          (function.min_arguments == 1 ? " argument" : " arguments") + ", found " +
                          std::to_string(count);
    if (open_ended && count == 1)
      message += " (the " + std::string(function.name) + " of a group stands under `aggregate`)";
    return message;
  }

  std::string_view text_;
  const PlaceFunction& place_;
  std::vector<Item> items_;
  std::vector<Mark> marks_;
  std::vector<const FunctionInfo*> calls_;
  std::string_view pseudo_;
  std::size_t quote_ = 0;
  int nesting_ = 0;
  bool sql_ = false;
  std::span<const std::string_view> sql_words_;
};

// What a match does to the tree.
template <class Rule>
struct action : peg::nothing<Rule> {};

// Rules that recurse count the levels.
struct nesting : peg::maybe_nothing {
  template <class Rule, peg::apply_mode A, peg::rewind_mode M, template <class...> class Action,
            template <class...> class Control, class Input>
  static bool match(Input& in, Builder& builder) {
    builder.enter(in.byte());
    const bool matched = peg::match<Rule, A, M, Action, Control>(in, builder);
    builder.leave();
    return matched;
  }
};
template <>
struct action<grammar::nested> : nesting {};
template <>
struct action<grammar::nested_negation> : nesting {};
template <>
struct action<grammar::nested_signed_value> : nesting {};

template <>
struct action<grammar::number_text> {
  template <class Input>
  static void apply(const Input& in, Builder& builder) {
    builder.push_number(in.position().byte, in.string_view());
  }
};
template <>
struct action<grammar::negative_number> {
  static void apply0(Builder& builder) { builder.negate_number(); }
};

struct begin_quoted {
  template <class Input>
  static void apply(const Input& in, Builder& builder) {
    builder.begin_quoted(in.position().byte);
  }
};
template <>
struct action<grammar::string_open> : begin_quoted {};
template <>
struct action<grammar::name_open> : begin_quoted {};
template <>
struct action<grammar::sql_name_open> : begin_quoted {};
template <>
struct action<grammar::sql_name_text> {
  template <class Input>
  static void apply(const Input& in, Builder& builder) {
    builder.push_column(in.position().byte - 1, unquoted(in.string_view(), '"'), true);
  }
};
template <>
struct action<grammar::string_text> {
  template <class Input>
  static void apply(const Input& in, Builder& builder) {
    builder.push_literal(in.position().byte - 1, unquoted(in.string_view(), '\''));
  }
};
template <>
struct action<grammar::name_text> {
  template <class Input>
  static void apply(const Input& in, Builder& builder) {
    builder.push_column(in.position().byte - 1, unquoted(in.string_view(), '`'), true);
  }
};
template <>
struct action<grammar::bare_name> {
  template <class Input>
  static void apply(const Input& in, Builder& builder) {
    builder.push_column(in.position().byte, in.string(), false);
  }
};

template <>
struct action<grammar::date> {
  template <class Input>
  static void apply(const Input& in, Builder& builder) {
    builder.convert_string(in.position().byte, parse_date, "date", "2017-05-01");
  }
};
template <>
struct action<grammar::timestamp> {
  template <class Input>
  static void apply(const Input& in, Builder& builder) {
    builder.convert_string(in.position().byte, parse_timestamp, "timestamp", "2017-05-01 12:00:00");
  }
};

template <>
struct action<grammar::true_value> {
  template <class Input>
  static void apply(const Input& in, Builder& builder) {
    builder.push_literal(in.position().byte, true);
  }
};
template <>
struct action<grammar::false_value> {
  template <class Input>
  static void apply(const Input& in, Builder& builder) {
    builder.push_literal(in.position().byte, false);
  }
};
template <>
struct action<grammar::null_value> {
  template <class Input>
  static void apply(const Input& in, Builder& builder) {
    builder.push_literal(in.position().byte, Null{});
  }
};

template <>
struct action<grammar::open_call> {
  template <class Input>
  static void apply(const Input& in, Builder& builder) {
    const std::string_view text = in.string_view();
    builder.open_call(in.position().byte, text.substr(0, text.find_first_of(" \t\r\n\v\f(")));
  }
};
template <>
struct action<grammar::call> {
  static void apply0(Builder& builder) { builder.close_call(); }
};

template <>
struct action<grammar::open_case> {
  template <class Input>
  static void apply(const Input& in, Builder& builder) {
    builder.open(in.position().byte);
  }
};
template <>
struct action<grammar::case_when> {
  static void apply0(Builder& builder) { builder.close(Op::case_when); }
};

template <Op op>
struct prefix {
  template <class Input>
  static void apply(const Input& in, Builder& builder) {
    builder.combine_at(in.position().byte, op, 1);
  }
};
template <>
struct action<grammar::negative_value> : prefix<Op::negate> {};
template <>
struct action<grammar::negated> : prefix<Op::logical_not> {};

template <Op op, std::size_t operands = 2, bool negated = false>
struct infix {
  static void apply0(Builder& builder) { builder.combine(op, operands, negated); }
};
template <>
struct action<grammar::times> : infix<Op::multiply> {};
template <>
struct action<grammar::over> : infix<Op::divide> {};
template <>
struct action<grammar::remainder> : infix<Op::modulo> {};
template <>
struct action<grammar::plus> : infix<Op::add> {};
template <>
struct action<grammar::less_by> : infix<Op::subtract> {};
template <>
struct action<grammar::is_equal> : infix<Op::equal> {};
template <>
struct action<grammar::is_not_equal> : infix<Op::not_equal> {};
template <>
struct action<grammar::is_less> : infix<Op::less> {};
template <>
struct action<grammar::is_less_equal> : infix<Op::less_equal> {};
template <>
struct action<grammar::is_greater> : infix<Op::greater> {};
template <>
struct action<grammar::is_greater_equal> : infix<Op::greater_equal> {};
template <>
struct action<grammar::is_between> : infix<Op::between, 3> {};
template <>
struct action<grammar::is_not_between> : infix<Op::between, 3, true> {};
template <>
struct action<grammar::null_test> : infix<Op::is_null, 1> {};
template <>
struct action<grammar::not_null_test> : infix<Op::is_null, 1, true> {};
template <>
struct action<grammar::and_also> : infix<Op::logical_and> {};
template <>
struct action<grammar::or_else> : infix<Op::logical_or> {};

struct open_list {
  template <class Input>
  static void apply(const Input& in, Builder& builder) {
    builder.open(in.position().byte);
  }
};
template <>
struct action<grammar::begin_in> : open_list {};
template <>
struct action<grammar::begin_not_in> : open_list {};
template <>
struct action<grammar::is_in> {
  static void apply0(Builder& builder) { builder.close(Op::in, 1); }
};
template <>
struct action<grammar::is_not_in> {
  static void apply0(Builder& builder) { builder.close(Op::in, 1, true); }
};

// A rule that must match and does not ends the parse with a message in the user's words.
template <class Rule>
struct control : peg::normal<Rule> {
  template <class Input>
  [[noreturn]] static void raise(const Input& in, Builder& builder) {
    if constexpr (std::is_same_v<Rule, grammar::string_close>) {
      builder.fail_unclosed("the string");
    } else if constexpr (std::is_same_v<Rule, grammar::name_close> || std::is_same_v<Rule, grammar::sql_name_close>) {
      builder.fail_unclosed("the quoted name");
    } else {
      builder.fail_expecting(in.byte(), kExpected<Rule>);
    }
  }
};

}  // namespace

NodePtr parse_expression(std::string_view text, const PlaceFunction& place) {
  Builder builder(text, place);
  peg::memory_input<peg::tracking_mode::eager> input(text.data(), text.size(), "");
  peg::parse<grammar::whole, action, control>(input, builder);
  return std::move(builder).result();
}

ParsedPrefix parse_sql_expression(std::string_view text, std::size_t offset, std::span<const std::string_view> reserved,
                                  const PlaceFunction& place) {
  Builder builder(text, place, reserved);
  peg::memory_input<peg::tracking_mode::eager> input(text.data() + offset, text.data() + text.size(), "", offset, 1, 1);
  peg::parse<grammar::prefix, action, control>(input, builder);
  const std::size_t end = input.byte();
  return {std::move(builder).result(), end};
}

NodePtr parse_expression(std::string_view text, const Location& origin) {
  const Places places(text, origin);
  return parse_expression(text, [&](std::size_t offset) { return places.at(offset); });
}

}  // namespace skyrank::query
// NOLINTEND(readability-identifier-naming)
