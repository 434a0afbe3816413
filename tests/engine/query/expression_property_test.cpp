#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/engine/query/random_trees.hpp"

namespace skyrank::query {
namespace {

// More cases than RapidCheck's 100 where the environment does not say otherwise: small trees seldom need parentheses.
[[maybe_unused]] const int kMoreCases = ::setenv("RC_PARAMS", "max_success=2000", 0);

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
