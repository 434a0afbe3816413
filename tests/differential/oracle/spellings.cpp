#include "tests/differential/oracle/spellings.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace skyrank::differential {
namespace {

using Weights = std::vector<Integer>;

Integer dot(const Weights& a, const Weights& b) {
  Integer sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Returns weights that fulfil some equations, one less than there are weights; zeros if many do.
Weights solution(const std::vector<Weights>& equations) {
  switch (equations.size()) {
    case 0: return {1};
    case 1: return {equations[0][1], -equations[0][0]};
    case 2: {
      const Weights& a = equations[0];
      const Weights& b = equations[1];
      return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    }
    default: throw std::logic_error("too many terms");
  }
}

Integer greatest_divisor(Integer a, Integer b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a < 0 ? -a : a;
}

/// Shortens a solution to whole numbers without a common factor, none of them negative; false if it has others.
bool shorten(Weights& weights) {
  Integer divisor = 0;
  for (const Integer weight : weights) divisor = greatest_divisor(divisor, weight);
  if (divisor == 0) return false;
  if (std::ranges::any_of(weights, [](Integer weight) { return weight < 0; })) divisor = -divisor;
  for (Integer& weight : weights) weight /= divisor;
  return std::ranges::all_of(weights, [](Integer weight) { return weight >= 0; });
}

/// Corners are where as many constraints hold with equality as leave one solution; those that favour earlier terms
/// come first.
std::vector<Weights> corners(std::size_t terms, const std::vector<Constraint>& constraints) {
  std::vector<Weights> rows;
  for (std::size_t t = 0; t < terms; ++t) rows.emplace_back(terms, 0)[t] = 1;
  for (const Constraint& constraint : constraints) rows.push_back(constraint.multiples);
  const auto fulfils = [&](const Weights& weights) {
    return std::ranges::all_of(constraints, [&](const Constraint& constraint) {
      const Integer sum = dot(constraint.multiples, weights);
      return constraint.is_equation ? sum == 0 : sum >= 0;
    });
  };
  std::vector<Weights> found;
  const auto add = [&](const std::vector<Weights>& equations) {
    Weights weights = solution(equations);
    if (shorten(weights) && fulfils(weights) && std::ranges::count(found, weights) == 0) found.push_back(weights);
  };
  if (terms == 1) add({});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (terms == 2) add({rows[i]});
    for (std::size_t j = i + 1; j < rows.size() && terms == 3; ++j) add({rows[i], rows[j]});
  }
  std::ranges::sort(found, [&](const Weights& a, const Weights& b) {
    const Integer sum_a = std::accumulate(a.begin(), a.end(), Integer{0});
    const Integer sum_b = std::accumulate(b.begin(), b.end(), Integer{0});
    for (std::size_t t = 0; t < terms; ++t) {
      if (a[t] * sum_b != b[t] * sum_a) return a[t] * sum_b > b[t] * sum_a;
    }
    return false;
  });
  return found;
}

ExpressionPtr sum_of(const std::vector<Preference>& terms, const Weights& weights) {
  ExpressionPtr sum;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    if (weights[t] == 0) continue;
    ExpressionPtr value = terms[t].expression;
    if (weights[t] != 1) value = operation(Op::multiply, {literal(weights[t], {Kind::int64}), value});
    const bool high = terms[t].kind == Preference::Kind::high;
    if (sum == nullptr) {
      sum = high ? operation(Op::negate, {value}) : value;
    } else {
      sum = operation(high ? Op::subtract : Op::add, {sum, value});
    }
  }
  return sum;
}

}  // namespace

Preference stepped(Preference term, const Cell& size) {
  const auto* text = std::get_if<std::string>(&size);
  term.stepped = term.expression;
  term.step = text != nullptr ? "\"" + *text + "\"" : spelled(size, {});
  Cell divisor = size;
  const bool is_ratio = text != nullptr && text->ends_with('%');
  if (is_ratio) divisor = std::stod(*text) / 100;
  const Domain domain{text == nullptr || is_ratio ? Kind::float64 : Kind::string};
  term.expression = operation(is_ratio ? Op::log_bucket : Op::bucket, {term.stepped, literal(divisor, domain)});
  return term;
}

Preference sums_at_corners(const std::vector<Preference>& terms, const std::vector<Constraint>& constraints) {
  Preference sums{.kind = Preference::Kind::pareto};
  for (const Weights& corner : corners(terms.size(), constraints)) {
    sums.children.push_back({.kind = Preference::Kind::low, .expression = sum_of(terms, corner)});
  }
  return sums;
}

Preference behind_condition(const ExpressionPtr& condition, const std::vector<ExpressionPtr>& violations,
                            Preference preference) {
  using Kind = Preference::Kind;
  Preference all{.kind = Kind::prior, .children = {{.kind = Kind::where, .expression = condition}}};
  for (const ExpressionPtr& violation : violations) {
    const ExpressionPtr zero = literal(Integer{0}, {differential::Kind::int64});
    all.children.push_back({.kind = Kind::low, .expression = operation(Op::case_when, {condition, zero, violation})});
  }
  all.children.push_back(std::move(preference));
  return all;
}

}  // namespace skyrank::differential
