#pragma once

#include <rapidcheck.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/query/ast.hpp"

// RapidCheck generators of expressions, whatever their types.
namespace skyrank::query {

inline NodePtr node(Op op, std::vector<NodePtr> children, bool negated = false) {
  Node result;
  result.op = op;
  result.children = std::move(children);
  result.negated = negated;
  return std::make_shared<const Node>(std::move(result));
}

inline NodePtr cast(NodePtr value, std::string type) {
  Node result;
  result.op = Op::cast;
  result.children = {std::move(value)};
  result.name = std::move(type);
  return std::make_shared<const Node>(std::move(result));
}

inline NodePtr literal(Value value) {
  Node result;
  result.value = std::move(value);
  return std::make_shared<const Node>(std::move(result));
}

inline NodePtr column(std::string name) {
  Node result;
  result.op = Op::column;
  result.exact = is_pseudo_column(name) && *rc::gen::arbitrary<bool>();
  result.name = std::move(name);
  return std::make_shared<const Node>(std::move(result));
}

inline std::string random_text() {
  return *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab Z_09'`\"\\\n%()[]\xC3\xA9")));
}

inline Value random_value() {
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

inline NodePtr random_leaf() {
  if (*rc::gen::arbitrary<bool>()) return literal(random_value());
  const std::string name = *rc::gen::element<std::string>("price", "Row", "row", "level", "and", "NULL", "date", "x_1",
                                                          "two words", "1st", "min");
  return column(name);
}

inline NodePtr random_tree(int depth);

inline std::vector<NodePtr> random_trees(int depth, int count) {
  std::vector<NodePtr> trees;
  for (int i = 0; i < count; ++i) trees.push_back(random_tree(depth));
  return trees;
}

// Any tree that a text may stand for, whatever its types.
inline NodePtr random_tree(int depth) {
  if (depth == 0 || *rc::gen::inRange(0, 5) == 0) return random_leaf();
  const int next = depth - 1;
  const bool flag = *rc::gen::arbitrary<bool>();
  switch (*rc::gen::inRange(0, 9)) {
    case 0:
    case 1:
    case 2:
      return node(*rc::gen::element(Op::add, Op::subtract, Op::multiply, Op::divide, Op::modulo, Op::equal,
                                    Op::not_equal, Op::less, Op::less_equal, Op::greater, Op::greater_equal,
                                    Op::logical_and, Op::logical_or, Op::concat),
                  random_trees(next, 2));
    case 3:
      return node(*rc::gen::element(Op::negate, Op::logical_not, Op::abs, Op::sqrt, Op::log, Op::exp, Op::floor,
                                    Op::ceil, Op::round, Op::year, Op::weekday, Op::length, Op::lower, Op::upper),
                  random_trees(next, 1));
    case 4: return node(*rc::gen::element(Op::min, Op::max, Op::coalesce), random_trees(next, *rc::gen::inRange(2, 4)));
    case 5: return node(Op::case_when, random_trees(next, *rc::gen::inRange(2, 6)));
    case 7:
      return cast(random_tree(next), *rc::gen::element<std::string>("int64", "uint64", "float64", "decimal(10,2)",
                                                                    "bool", "string", "date", "timestamp"));
    case 6: return node(Op::in, random_trees(next, *rc::gen::inRange(2, 5)), flag);
    default:
      if (*rc::gen::arbitrary<bool>()) return node(Op::like, random_trees(next, 2), flag);
      return flag ? node(Op::between, random_trees(next, 3), *rc::gen::arbitrary<bool>())
                  : node(Op::is_null, random_trees(next, 1), *rc::gen::arbitrary<bool>());
  }
}

}  // namespace skyrank::query
