#pragma once

#include <map>
#include <string>

#include "engine/expression/ir.hpp"
#include "engine/keys/preference_plan.hpp"
#include "engine/query/bound.hpp"

namespace skyrank::exec {

/// The order between two rows of which one is preferred to the other: by the first term of every key of a preference's
/// first step, if it is a flat Pareto order, the preferred row is never the worse.
///
/// Sums and products with numbers are rounded monotonically. The exception are values that a sum has nothing below: the
/// infinity that is worst, NaN and NULL. An expression of a row that is preferred to one with such a value may be as
/// bad or worse (-inf + inf is NaN). Callers that rely on the order have to exclude them.
class Monotone {
 public:
  explicit Monotone(const PreferencePlan& plan);

  /// Returns true if the preferred of two rows is never the worse by an expression, low (high) values being better,
  /// except for the values named above.
  bool follows(const query::BoundExpression& expression, bool high) const;

  /// Returns true if a condition that is true for a row is true for all rows that are preferred to it.
  bool keeps_preferred(const query::BoundExpression& condition) const;

 private:
  bool follows(const Ir& ir, const Operation& operation, bool high) const;
  bool scaled(const Ir& ir, const Operation& operation, const Operation& number, bool high) const;
  bool keeps_preferred(const Ir& ir, const Operation& condition) const;

  std::map<int, bool> columns_;        // whether high values are better
  std::map<std::string, bool> texts_;  // the same of expressions
};

}  // namespace skyrank::exec
