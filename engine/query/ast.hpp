#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/error.hpp>
#include <skyrank/types.hpp>

namespace skyrank::query {

enum class Op {
  // leaves
  literal,  // Node::value
  column,   // Node::name
  // arithmetic
  negate, add, subtract, multiply, divide, modulo,
  // comparison
  equal, not_equal, less, less_equal, greater, greater_equal,
  // logic
  logical_and, logical_or, logical_not,
  // predicates; `negated` for the NOT forms
  in,       // children: the operand, then the members
  between,  // children: the operand, lower, upper
  is_null,  // one child
  // functions
  abs, min, max, sqrt, log, exp, floor, ceil,
  // children: condition, value, condition, value, ..., [else value]; an odd number of children means an else
  case_when,
};

struct Node;
using NodePtr = std::shared_ptr<const Node>;

/// One node of a parsed expression. Immutable once built.
struct Node {
  Op op = Op::literal;
  Value value;               // literal
  std::string name;          // column
  bool negated = false;      // in, between, is_null
  std::vector<NodePtr> children;
  std::size_t offset = 0;    // of the node's first character in the parsed text; not compared
};

/// Equality of meaning: everything but offsets.
bool equal(const Node& a, const Node& b);

/// Canonical text: minimal parentheses, one space around binary operators, backquotes where a name needs them.
std::string to_text(const Node& node);

/// "+", "and", "is null", "abs", ... for messages.
std::string_view spelling(Op op);

/// Parses; QueryError with line and column relative to `origin`. Nesting deeper than 200 is refused.
NodePtr parse_expression(std::string_view text, const Location& origin);

}  // namespace skyrank::query
