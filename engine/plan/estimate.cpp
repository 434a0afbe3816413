#include "engine/plan/estimate.hpp"

#include <algorithm>
#include <cmath>

#include "engine/expression/ir.hpp"

namespace skyrank::exec {
namespace {

constexpr double kEqual = 0.1;
constexpr double kRange = 1.0 / 3;
constexpr double kBetween = 0.25;
constexpr double kMaxOfIn = 0.5;
constexpr double kNull = 0.1;
constexpr double kUnknown = 0.5;

double negate_if(bool negated, double selectivity) { return negated ? 1 - selectivity : selectivity; }

double guess_literal(const Value& value) {
  const auto* truth = std::get_if<bool>(&value);
  return truth != nullptr && *truth ? 1 : 0;
}

double guess_members(const Operation& in) {
  if (in.members == nullptr) return static_cast<double>(in.operands.size() - 1);
  return static_cast<double>(in.members->constants.size());
}

double guess(const Ir& ir, const Operation& condition) {
  using query::Op;
  const auto operand = [&](std::size_t i) { return guess(ir, ir.operand(condition, i)); };
  switch (condition.op) {
    case Op::literal: return guess_literal(condition.constant->value);
    case Op::equal: return kEqual;
    case Op::not_equal: return 1 - kEqual;
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal: return kRange;
    case Op::between: return negate_if(condition.negated, kBetween);
    case Op::in: return negate_if(condition.negated, std::min(kMaxOfIn, kEqual * guess_members(condition)));
    case Op::is_null: return negate_if(condition.negated, kNull);
    case Op::logical_not: return 1 - operand(0);
    case Op::logical_and:
    case Op::logical_or: {
      const bool both = condition.op == Op::logical_and;
      double share = 1;  // of rows on which every operand is true (and), or none is (or)
      for (std::size_t i = 0; i < condition.operands.size(); ++i) share *= both ? operand(i) : 1 - operand(i);
      return both ? share : 1 - share;
    }
    default: return kUnknown;
  }
}

}  // namespace

double guess_selectivity(const query::BoundExpression& condition) {
  const Ir ir = lower(*condition.root);
  return guess(ir, ir.root());
}

double guess_groups(double n, const std::vector<DataType>& types) {
  double groups = 1;
  for (const DataType type : types) groups *= type.type == Type::boolean ? 2 : std::sqrt(n);
  return std::min(n, groups);
}

double estimate_groups(double n, double distinct, double once, double twice) {
  return std::min(n, distinct + once * (once - 1) / (2 * (twice + 1)));
}

}  // namespace skyrank::exec
