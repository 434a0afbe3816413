#include "engine/operators/skyline/monotone.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace skyrank::exec {

using query::BoundNode;
using query::BoundPreference;
using query::Op;

namespace {

std::optional<double> number(const BoundNode& node) {
  if (node.op == Op::negate) {
    const auto value = number(*node.children.front());
    return value ? std::optional(-*value) : std::nullopt;
  }
  if (node.op != Op::literal) return std::nullopt;
  if (const auto* value = std::get_if<double>(&node.value)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&node.value)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::uint64_t>(&node.value)) return static_cast<double>(*value);
  return std::nullopt;
}

/// A number, not infinite, or a time.
bool is_bound(const BoundNode& node) {
  if (const auto value = number(node)) return std::isfinite(*value);
  return node.op == Op::literal &&
         (std::holds_alternative<Date>(node.value) || std::holds_alternative<Timestamp>(node.value));
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
  return (same != texts_.end() && same->second == high) || follows(*expression.root, high);
}

/// A product with a number, or a quotient by it. 0 times infinity would be NaN.
bool Monotone::scaled(const BoundNode& node, const BoundNode& by, bool high) const {
  const std::optional<double> factor = number(by);
  return factor && std::isfinite(*factor) && *factor != 0 && follows(node, (*factor < 0) != high);
}

bool Monotone::follows(const BoundNode& node, bool high) const {
  const auto child = [&](std::size_t i) -> const BoundNode& { return *node.children[i]; };
  switch (node.op) {
    case Op::literal: return number(node) && std::isfinite(*number(node));
    case Op::column: {
      const auto found = columns_.find(node.column);
      return found != columns_.end() && found->second == high;
    }
    case Op::negate: return follows(child(0), !high);
    case Op::add: return follows(child(0), high) && follows(child(1), high);
    case Op::subtract: return follows(child(0), high) && follows(child(1), !high);
    case Op::multiply: return scaled(child(0), child(1), high) || scaled(child(1), child(0), high);
    case Op::divide: return scaled(child(0), child(1), high);
    default: return false;
  }
}

bool Monotone::keeps_preferred(const BoundNode& condition) const {
  const auto child = [&](std::size_t i) -> const BoundNode& { return *condition.children[i]; };
  // An expression below a bound is neither NaN nor NULL nor the infinity that is worst.
  const auto bounded = [&](bool from_below) {
    return (is_bound(child(1)) && follows(child(0), from_below)) ||
           (is_bound(child(0)) && follows(child(1), !from_below));
  };
  switch (condition.op) {
    case Op::logical_and:
    case Op::logical_or:
      return std::ranges::all_of(condition.children, [&](const auto& part) { return keeps_preferred(*part); });
    case Op::less:
    case Op::less_equal: return bounded(false);
    case Op::greater:
    case Op::greater_equal: return bounded(true);
    default: return false;
  }
}

}  // namespace skyrank::exec
