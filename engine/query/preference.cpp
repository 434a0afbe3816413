#include <skyrank/preference.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "engine/query/ast.hpp"
#include "engine/query/check.hpp"
#include "engine/query/enum_words.hpp"
#include "engine/query/values.hpp"
#include "engine/text.hpp"

namespace skyrank {
inline namespace v0 {
namespace {

using Kind = Preference::Kind;

Preference term(Kind kind, Expression expression) {
  Preference result;
  result.kind = kind;
  result.expression = std::move(expression);
  return result;
}

Preference composition(Kind kind, std::vector<Preference> terms) {
  Preference result;
  result.kind = kind;
  result.children = std::move(terms);
  query::check_depth(result);
  return result;
}

Expression made(query::Op op, const std::vector<Expression>& operands, const Location& place) {
  query::Node node;
  node.op = op;
  node.line = place.line;
  node.column = place.column;
  for (const Expression& operand : operands) {
    node.children.push_back(std::make_shared<const query::Node>(query::root_of(operand)));
  }
  return query::make_expression(std::make_shared<const query::Node>(std::move(node)), place);
}

// The violation of rows that do not meet a condition; 0 of those that do.
Expression violation_beside(const Expression& condition, const Expression& violation) {
  return made(query::Op::case_when, {condition, Expression::literal(std::int64_t{0}), violation}, violation.location());
}

Preference checked(Preference preference) {
  query::check_node(preference);
  return preference;
}

}  // namespace

Preference low(Expression expression) { return term(Kind::low, std::move(expression)); }
Preference high(Expression expression) { return term(Kind::high, std::move(expression)); }

Preference around(Expression expression, Value target) {
  Preference result = term(Kind::around, std::move(expression));
  result.target = query::normalized(std::move(target));
  return checked(std::move(result));
}

Preference between(Expression expression, Value from, Value to) {
  Preference result = term(Kind::between, std::move(expression));
  result.target = query::normalized(std::move(from));
  result.upper = query::normalized(std::move(to));
  return checked(std::move(result));
}

Preference in(Expression expression, std::vector<std::vector<Value>> values) {
  Preference result = term(Kind::in, std::move(expression));
  for (auto& set : values) {
    for (Value& value : set) value = query::normalized(std::move(value));
  }
  result.values = std::move(values);
  return checked(std::move(result));
}

Preference where(Expression condition) { return term(Kind::where, std::move(condition)); }

Preference pareto(std::vector<Preference> terms) { return checked(composition(Kind::pareto, std::move(terms))); }
Preference prior(std::vector<Preference> terms) { return checked(composition(Kind::prior, std::move(terms))); }
Preference inverse(Preference preference) {
  std::vector<Preference> only;
  only.push_back(std::move(preference));
  return composition(Kind::inverse, std::move(only));
}

Preference feasible(Expression condition, std::vector<Expression> violations, Preference preference) {
  std::vector<Preference> terms;
  for (Expression& violation : violations) terms.push_back(low(violation_beside(condition, violation)));
  terms.insert(terms.begin(), where(std::move(condition)));
  terms.push_back(std::move(preference));
  return prior(std::move(terms));
}

Preference step(Preference term, Value size) {
  if (term.kind != Kind::low && term.kind != Kind::high) {
    throw QueryError("'step' is of 'low' and 'high', not of " + query::in_quotes(query::word_for(term.kind)));
  }
  query::check_node(term);
  const auto ratio = query::ratio_of(size);
  const Value normal = query::normalized(ratio ? Value(*ratio) : size);
  query::check_box_size(normal, ratio.has_value(), size);
  const std::vector<Expression> operands = {*term.expression, Expression::literal(normal)};
  term.expression = made(ratio ? query::Op::log_bucket : query::Op::bucket, operands, term.expression->location());
  return term;
}

Preference::~Preference() {
  std::vector<Preference> rest = std::move(children);
  try {
    while (!rest.empty()) {
      Preference last = std::move(rest.back());
      rest.pop_back();
      std::move(last.children.begin(), last.children.end(), std::back_inserter(rest));
      last.children.clear();
    }
  } catch (const std::bad_alloc&) {
    // The rest ends level by level, as without this.
  }
}

RankTerm::RankTerm(const Preference& preference)
    : RankTerm(query::ranked_expression(preference), preference.kind == Kind::high) {}

}  // namespace v0
}  // namespace skyrank
