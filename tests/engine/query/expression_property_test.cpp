#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/expression.hpp>

#include "engine/query/ast.hpp"

namespace skyrank::query {
namespace {

// More cases than RapidCheck's 100 where the environment does not say otherwise: small trees seldom need parentheses.
[[maybe_unused]] const int kMoreCases = ::setenv("RC_PARAMS", "max_success=2000", 0);

NodePtr node(Op op, std::vector<NodePtr> children, bool negated = false) {
  Node result;
  result.op = op;
  result.children = std::move(children);
  result.negated = negated;
  return std::make_shared<const Node>(std::move(result));
}

NodePtr literal(Value value) {
  Node result;
  result.value = std::move(value);
  return std::make_shared<const Node>(std::move(result));
}

NodePtr column(std::string name) {
  Node result;
  result.op = Op::column;
  result.exact = is_pseudo_column(name) && *rc::gen::arbitrary<bool>();
  result.name = std::move(name);
  return std::make_shared<const Node>(std::move(result));
}

std::string random_text() {
  return *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab Z_09'`\"\\\n%()[]\xC3\xA9")));
}

Value random_value() {
  switch (*rc::gen::inRange(0, 9)) {
    case 0: return Null{};
    case 1: return *rc::gen::arbitrary<bool>();
    case 2: return *rc::gen::arbitrary<std::int64_t>();
    case 3: return std::numeric_limits<std::int64_t>::min();
    case 4: return (std::uint64_t{1} << 63) + *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 63);
    case 5: return *rc::gen::suchThat<double>([](double d) { return std::isfinite(d); });
    case 6: return Date{*rc::gen::inRange<std::int32_t>(-1'000'000, 1'000'000)};
    case 7:
      return Timestamp{
          *rc::gen::arbitrary<std::int64_t>(),
          *rc::gen::element(TimeUnit::second, TimeUnit::millisecond, TimeUnit::microsecond, TimeUnit::nanosecond)};
    default: return random_text();
  }
}

NodePtr random_leaf() {
  if (*rc::gen::arbitrary<bool>()) return literal(random_value());
  const std::string name = *rc::gen::element<std::string>("price", "Row", "row", "level", "and", "NULL", "date", "x_1",
                                                          "two words", "1st", "min");
  return column(name);
}

NodePtr random_tree(int depth);

std::vector<NodePtr> random_trees(int depth, int count) {
  std::vector<NodePtr> trees;
  for (int i = 0; i < count; ++i) trees.push_back(random_tree(depth));
  return trees;
}

// Any tree that a text may stand for, whatever its types.
NodePtr random_tree(int depth) {
  if (depth == 0 || *rc::gen::inRange(0, 5) == 0) return random_leaf();
  const int next = depth - 1;
  const bool flag = *rc::gen::arbitrary<bool>();
  switch (*rc::gen::inRange(0, 8)) {
    case 0:
    case 1:
    case 2:
      return node(
          *rc::gen::element(Op::add, Op::subtract, Op::multiply, Op::divide, Op::modulo, Op::equal, Op::not_equal,
                            Op::less, Op::less_equal, Op::greater, Op::greater_equal, Op::logical_and, Op::logical_or),
          random_trees(next, 2));
    case 3:
      return node(
          *rc::gen::element(Op::negate, Op::logical_not, Op::abs, Op::sqrt, Op::log, Op::exp, Op::floor, Op::ceil),
          random_trees(next, 1));
    case 4: return node(*rc::gen::element(Op::min, Op::max), random_trees(next, *rc::gen::inRange(2, 4)));
    case 5: return node(Op::case_when, random_trees(next, *rc::gen::inRange(2, 6)));
    case 6: return node(Op::in, random_trees(next, *rc::gen::inRange(2, 5)), flag);
    default:
      return flag ? node(Op::between, random_trees(next, 3), *rc::gen::arbitrary<bool>())
                  : node(Op::is_null, random_trees(next, 1), *rc::gen::arbitrary<bool>());
  }
}

RC_GTEST_PROP(ExpressionProperty, TextParsesBackToTheSameTree, ()) {
  const NodePtr tree = random_tree(*rc::gen::inRange(0, 6));
  const std::string text = to_text(*tree);
  RC_LOG() << text << "\n";
  const NodePtr parsed = parse_expression(text, Location{});
  RC_ASSERT(equal(*parsed, *tree));
  RC_ASSERT(to_text(*parsed) == text);
}

// White space may stand between all tokens of a canonical text where it has a space already.
RC_GTEST_PROP(ExpressionProperty, SpacesDoNotCount, ()) {
  const NodePtr tree = random_tree(3);
  std::string text;
  bool in_quotes = false;
  for (const char c : to_text(*tree)) {
    if (c == '\'' || c == '`') in_quotes = !in_quotes;
    text += c == ' ' && !in_quotes ? *rc::gen::element<std::string>(" ", "\n", " \t ", "\r\n") : std::string(1, c);
  }
  // A quote inside the other kind of quotes would confuse the counting above.
  RC_PRE(to_text(*tree).find('`') == std::string::npos || to_text(*tree).find('\'') == std::string::npos);
  RC_ASSERT(equal(*parse_expression(text, Location{}), *tree));
}

// Any text either parses or is refused with a place inside it.
RC_GTEST_PROP(ExpressionProperty, EveryTextParsesOrIsRefusedInPlace, ()) {
  const auto tokens = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "a", "1", "-", "not", "and", "or", "(", ")", "[", "]", ",", "in", "between", "is", "null", "case", "when", "then",
      "else", "end", "max(", "date", "'x'", "'", "`", "=", "<", "+", "*", "1e5", ".", "\n", "é", "\xFF"));
  std::string text;
  std::int64_t lines = 1;
  for (const std::string& token : tokens) {
    text += token + " ";
    lines += token == "\n" ? 1 : 0;
  }
  try {
    const NodePtr parsed = parse_expression(text, Location{"t", 1, 1});
    RC_ASSERT(equal(*parse_expression(to_text(*parsed), Location{}), *parsed));
  } catch (const QueryError& error) {
    RC_ASSERT(error.location().line >= 1 && error.location().line <= lines);
    RC_ASSERT(error.location().column >= 1);
    RC_ASSERT(error.location().column <= static_cast<std::int64_t>(text.size()) + 1);
  }
}

}  // namespace
}  // namespace skyrank::query
