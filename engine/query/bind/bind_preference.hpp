#pragma once

#include <functional>

#include "engine/query/bound.hpp"

namespace skyrank::query {

using ExpressionBinder = std::function<BoundExpression(const Expression&)>;

/// Binds a checked preference with `bind` for its expressions, and brings it into normal form: `inverse` stands at the
/// terms only, no composition holds one of its own kind or a single child, targets and values have the types of their
/// expressions. `nulls_first` makes NULL better than every value. BindError where a type does not fit.
BoundPreference bind_preference(const Preference& preference, bool nulls_first, const ExpressionBinder& bind);

/// BindError unless `expression` can be ordered by `low` and `high`: everything but strings.
void check_orderable(const BoundExpression& expression, std::string_view word);

}  // namespace skyrank::query
