#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/preference.hpp>

#include "engine/decimal.hpp"
#include "engine/query/ast.hpp"
#include "engine/query/check.hpp"
#include "engine/query/values.hpp"
#include "engine/query/weights/corners.hpp"
#include "engine/text.hpp"

// Weighted sums as a preference: P. Ciaccia and D. Martinenghi, "Flexible Skylines: Dominance for Arbitrary Sets of
// Monotone Functions", ACM TODS 45(4), 2020. A row beats another under all weights of a region where it does so at its
// corners, so that the preference is the Pareto order of the sums at these (Theorem 4.2).
namespace skyrank {
namespace query {
namespace {

using Kind = Preference::Kind;

/// A sum of multiples of the terms' weights.
using LinearForm = std::vector<Decimal>;

/// Reads constraints on the weights of some terms, which stand for their weights there.
class ConstraintReader {
 public:
  explicit ConstraintReader(const std::vector<Preference>& terms) : terms_(terms) {}

  /// Adds c for c * w >= 0, and for equality also -c.
  void add(const Expression& constraint, std::vector<std::vector<Int128>>& to) {
    origin_ = constraint.location();
    const Node& root = root_of(constraint);
    const bool less = root.op == Op::less_equal || root.op == Op::equal;
    if (!less && root.op != Op::greater_equal) {
      fail(root, "a constraint on weights compares two of them by <=, >= or =, such as price >= 2 * rating; found " +
                     to_text(root));
    }
    const LinearForm greater = form_of(*root.children[less ? 1 : 0]);
    const LinearForm smaller = form_of(*root.children[less ? 0 : 1]);
    std::vector<Int128> row = integers(sum(greater, smaller, -1));
    to.push_back(row);
    if (root.op != Op::equal) return;
    for (Int128& value : row) value = -value;
    to.push_back(std::move(row));
  }

 private:
  [[noreturn]] void fail(const Node& node, const std::string& message) const {
    throw QueryError(message, place_of(node, origin_));
  }

  [[noreturn]] void fail_digits() const {
    throw QueryError("the numbers of a constraint on weights are too large or have too many digits", origin_);
  }

  Decimal checked(Int128 value, int scale, bool overflowed) const {
    if (overflowed || scale > kMaxDigits128) fail_digits();
    return without_trailing_zeros({value, scale});
  }

  Decimal product(Decimal a, Decimal b) const {
    Int128 value = 0;
    const bool overflowed = __builtin_mul_overflow(a.unscaled, b.unscaled, &value);
    return checked(value, a.scale + b.scale, overflowed);
  }

  LinearForm sum(const LinearForm& a, const LinearForm& b, int sign) const {
    LinearForm result;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const int scale = std::max(a[i].scale, b[i].scale);
      const auto x = rescaled(a[i], scale);
      const auto y = rescaled(b[i], scale);
      Int128 value = 0;
      const bool overflowed = !x || !y || __builtin_add_overflow(*x, sign * *y, &value);
      result.push_back(checked(value, scale, overflowed));
    }
    return result;
  }

  /// The same times a power of ten, as integers.
  std::vector<Int128> integers(const LinearForm& form) const {
    int scale = 0;
    for (const Decimal& factor : form) scale = std::max(scale, factor.scale);
    std::vector<Int128> result;
    for (const Decimal& factor : form) {
      const auto value = rescaled(factor, scale);
      if (!value) fail_digits();
      result.push_back(*value);
    }
    return result;
  }

  std::optional<Decimal> number(const Node& node) const {
    return node.op == Op::literal ? decimal_of(node.value) : std::nullopt;
  }

  bool is_term(const Node& node, const Preference& term) const {
    const Node& root = root_of(*term.expression);
    const bool boxed = root.op == Op::bucket || root.op == Op::log_bucket;
    return equal(node, root) || (boxed && equal(node, *root.children[0])) ||
           (node.op == Op::column && node.name == output_name(*term.expression));
  }

  LinearForm form_of(const Node& node) const {
    const auto term = std::ranges::find_if(terms_, [&](const Preference& one) { return is_term(node, one); });
    if (term != terms_.end()) {
      LinearForm form(terms_.size());
      form[static_cast<std::size_t>(term - terms_.begin())] = {1, 0};
      return form;
    }
    // Weights sum to 1, so that a number is as many times all of them.
    if (const auto constant = number(node)) return LinearForm(terms_.size(), *constant);
    const auto operand = [&](std::size_t i) { return form_of(*node.children[i]); };
    switch (node.op) {
      case Op::add: return sum(operand(0), operand(1), 1);
      case Op::subtract: return sum(operand(0), operand(1), -1);
      case Op::negate: return sum(LinearForm(terms_.size()), operand(0), -1);
      case Op::multiply:
        for (const std::size_t i : {0, 1}) {
          if (const auto factor = number(*node.children[i])) {
            LinearForm form = operand(1 - i);
            for (Decimal& value : form) value = product(value, *factor);
            return form;
          }
        }
        break;
      default: break;
    }
    fail(node, "a constraint on weights has sums of multiples of them, such as 2 * price + rating; " + to_text(node) +
                   " is none, and no term of the preference");
  }

  const std::vector<Preference>& terms_;
  Location origin_;
};

NodePtr node_of(Op op, std::vector<NodePtr> children) {
  Node node;
  node.op = op;
  node.children = std::move(children);
  return std::make_shared<const Node>(std::move(node));
}

/// Returns the sum of the terms' values, those of `high` terms negated, by the weights of a corner.
Preference sum_at(const std::vector<Preference>& terms, const std::vector<Int128>& weights) {
  NodePtr sum;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (weights[i] == 0) continue;
    NodePtr value = std::make_shared<const Node>(root_of(*terms[i].expression));
    if (weights[i] != 1) {
      const Expression weight = Expression::literal(Decimal{weights[i], 0});
      const auto whole = static_cast<std::int64_t>(weights[i]);
      const Expression factor = whole == weights[i] ? Expression::literal(whole) : weight;
      value = node_of(Op::multiply, {std::make_shared<const Node>(root_of(factor)), value});
    }
    const bool high = terms[i].kind == Kind::high;
    if (sum == nullptr) {
      sum = high ? node_of(Op::negate, {value}) : value;
    } else {
      sum = node_of(high ? Op::subtract : Op::add, {sum, value});
    }
  }
  Node root = *sum;
  root.at_corner = true;
  return low(make_expression(std::make_shared<const Node>(std::move(root)), terms.front().expression->location()));
}

}  // namespace
}  // namespace query

Preference v0::weighted(std::vector<Preference> terms, const std::vector<Expression>& constraints) {
  if (terms.empty()) throw QueryError("'weights' need at least one term");
  for (const Preference& term : terms) {
    query::check_node(term);
    if (term.kind != Preference::Kind::low && term.kind != Preference::Kind::high) {
      throw QueryError("'weights' are of 'low' and 'high' terms in one Pareto order");
    }
  }
  std::vector<std::vector<Int128>> rows;
  query::ConstraintReader reader(terms);
  for (const Expression& constraint : constraints) reader.add(constraint, rows);
  std::vector<Preference> sums;
  for (const std::vector<Int128>& corner : query::corners_of(terms.size(), rows)) {
    sums.push_back(query::sum_at(terms, corner));
  }
  if (sums.empty()) throw QueryError("no weights of 0 or more fulfil all constraints of 'weights'");
  return query::combined(std::move(sums));
}

}  // namespace skyrank
