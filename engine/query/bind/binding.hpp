#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <skyrank/expression.hpp>
#include <skyrank/query.hpp>

#include "engine/query/bound.hpp"

// The parts of binding: expressions, comparisons by the order of categories, and preferences.
namespace skyrank::query {

/// Finds the fields of a schema by name in constant time, for queries that name many. The schema must outlive it.
class SchemaPlaces {
 public:
  explicit SchemaPlaces(const Schema& schema) : schema_(schema) {
    for (std::size_t i = 0; i < schema.fields.size(); ++i) places_.emplace(schema.fields[i].name, static_cast<int>(i));
  }

  const Schema& schema() const { return schema_; }

  std::optional<int> find(std::string_view name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const Schema& schema_;
  std::unordered_map<std::string_view, int> places_;
};

/// Binds one of several expressions over a schema.
BoundExpression bind_expression(const Expression& expression, const SchemaPlaces& places);

/// Throws BindError unless an expression is a condition, which `where` needs.
void check_condition(const BoundExpression& expression);

BoundPtr make_literal(Value value, DataType type);
BoundPtr make_node(Op op, DataType type, std::vector<BoundPtr> children, bool negated = false);

/// Throws the error of a comparison that has no meaning, at its place.
using FailComparison = std::function<void(const std::string& message)>;

/// Returns a comparison (<, <=, >, >=, between) as it is by the order of the columns that it compares, in terms of what
/// needs no order: a test for the texts that are less, or a comparison of places in the order. Null where no operand is
/// a column that ranks by an order. Calls `fail` for texts that are not in the order, and for other orders.
BoundPtr ordered_comparison(Op op, const std::vector<BoundPtr>& operands, bool negated, const Schema& schema,
                            const FailComparison& fail);

/// Returns true if a node is a column that ranks by an order.
bool has_order(const BoundNode& node, const Schema& schema);

/// The rules of a query by which missing values come before all others.
struct MissingFirst {
  bool nan = false;
  bool nulls = false;  // before NaN too
};

/// Returns what the rules of a query put first.
MissingFirst missing_first(const Query& query);

/// Returns the condition that the value of a float expression stands before all numbers where NaN does: it is NaN, or a
/// NULL that comes first too. The condition itself is never NULL. A term of it, asked before one of the expression,
/// puts NaN first; so keys need no form of their own for `nan: best`.
Expression stands_first(const Expression& expression, MissingFirst first);

/// Returns true if a bound preference is one flat Pareto order: a term, or `pareto` of terms. A `prior` of terms is
/// one, as it is a total order of its own.
bool is_flat_pareto(const BoundPreference& preference);

using ExpressionBinder = std::function<BoundExpression(const Expression&)>;

/// Binds a checked preference with `bind` for its expressions, and brings it into normal form: `inverse` stands at the
/// terms only, no composition holds one of its own kind or a single child, targets and values have the types of their
/// expressions. What is `first` is better than every value; where NaN is, a term of floats becomes a `prior` of whether
/// they are NaN and of the term. BindError where a type does not fit.
BoundPreference bind_preference(const Preference& preference, MissingFirst first, const ExpressionBinder& bind);

/// Checks a pick against the preference whose rows it chooses from. BindError where it does not suit it.
Pick bind_pick(const Pick& pick, const BoundPreference& preference);

}  // namespace skyrank::query
