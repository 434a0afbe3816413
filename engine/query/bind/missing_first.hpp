#pragma once

#include <skyrank/expression.hpp>
#include <skyrank/query.hpp>

namespace skyrank::query {

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

}  // namespace skyrank::query
