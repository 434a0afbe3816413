#pragma once

#include <functional>

#include "engine/query/bind/missing_first.hpp"
#include "engine/query/bound.hpp"

namespace skyrank::query {

using ExpressionBinder = std::function<BoundExpression(const Expression&)>;

/// Binds a checked preference with `bind` for its expressions, and brings it into normal form: `inverse` stands at the
/// terms only, no composition holds one of its own kind or a single child, targets and values have the types of their
/// expressions. What is `first` is better than every value; where NaN is, a term of floats becomes a `prior` of whether
/// they are NaN and of the term. BindError where a type does not fit.
BoundPreference bind_preference(const Preference& preference, MissingFirst first, const ExpressionBinder& bind);

}  // namespace skyrank::query
