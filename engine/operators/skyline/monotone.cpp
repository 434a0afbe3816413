#include "engine/operators/skyline/monotone.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <variant>

#include "engine/expression/patterns.hpp"

namespace skyrank::exec {

using query::BoundPreference;
using query::Op;

namespace {

/// A number, not infinite, or a time.
bool is_bound(const Operation& operation) {
  if (const auto value = literal_number(operation)) return std::isfinite(*value);
  return is_literal(operation) && (std::holds_alternative<Date>(operation.constant->value) ||
                                   std::holds_alternative<Timestamp>(operation.constant->value));
}

}  // namespace

Monotone::Monotone(const PreferencePlan& plan) {
  for (const KeyTerms& key : plan.steps.front().keys) {
    const BoundPreference& term = plan.terms[key.front()];
    if (term.kind != Preference::Kind::low && term.kind != Preference::Kind::high) continue;
    const bool high = (term.kind == Preference::Kind::high) != term.inverted;
    if (term.expression.column >= 0) columns_.emplace(term.expression.column, high);
    texts_.emplace(term.expression.text, high);
  }
}

bool Monotone::follows(const query::BoundExpression& expression, bool high) const {
  const auto same = texts_.find(expression.text);
  if (same != texts_.end() && same->second == high) return true;
  const Ir ir = lower(*expression.root);
  return follows(ir, ir.root(), high);
}

/// A product with a number, or a quotient by it. 0 times infinity would be NaN.
bool Monotone::scaled(const Ir& ir, const Operation& operation, const Operation& by, bool high) const {
  const std::optional<double> factor = literal_number(by);
  return factor && std::isfinite(*factor) && *factor != 0 && follows(ir, operation, (*factor < 0) != high);
}

bool Monotone::follows(const Ir& ir, const Operation& operation, bool high) const {
  const auto operand = [&](std::size_t i) -> const Operation& { return ir.operand(operation, i); };
  switch (operation.op) {
    case Op::literal: return literal_number(operation) && std::isfinite(*literal_number(operation));
    case Op::column: {
      const auto found = columns_.find(operation.column);
      return found != columns_.end() && found->second == high;
    }
    case Op::negate: return follows(ir, operand(0), !high);
    case Op::add: return follows(ir, operand(0), high) && follows(ir, operand(1), high);
    case Op::subtract: return follows(ir, operand(0), high) && follows(ir, operand(1), !high);
    case Op::multiply: return scaled(ir, operand(0), operand(1), high) || scaled(ir, operand(1), operand(0), high);
    case Op::divide: return scaled(ir, operand(0), operand(1), high);
    default: return false;
  }
}

bool Monotone::keeps_preferred(const query::BoundExpression& condition) const {
  const Ir ir = lower(*condition.root);
  return keeps_preferred(ir, ir.root());
}

bool Monotone::keeps_preferred(const Ir& ir, const Operation& condition) const {
  const auto operand = [&](std::size_t i) -> const Operation& { return ir.operand(condition, i); };
  // An expression below a bound is neither NaN nor NULL nor the infinity that is worst.
  const auto bounded = [&](bool from_below) {
    return (is_bound(operand(1)) && follows(ir, operand(0), from_below)) ||
           (is_bound(operand(0)) && follows(ir, operand(1), !from_below));
  };
  switch (condition.op) {
    case Op::logical_and:
    case Op::logical_or: {
      bool all = true;
      for (std::size_t i = 0; i < condition.operands.size(); ++i) all = all && keeps_preferred(ir, operand(i));
      return all;
    }
    case Op::less:
    case Op::less_equal: return bounded(false);
    case Op::greater:
    case Op::greater_equal: return bounded(true);
    default: return false;
  }
}

}  // namespace skyrank::exec
