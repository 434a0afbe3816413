#include "engine/query/bind/missing_first.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "engine/query/ast.hpp"

namespace skyrank::query {
namespace {

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

}  // namespace skyrank::query
