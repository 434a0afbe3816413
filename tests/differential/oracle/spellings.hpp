#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/differential/oracle/query.hpp"

// Preferences that a query says in other words than their terms: by steps, weights and conditions to meet.
namespace skyrank::differential {

/// Returns a `low` or `high` term whose values compare by their boxes; `size` is a number, a time or a ratio such as
/// "10%", as YAML has it.
Preference stepped(Preference term, const Cell& size);

/// A constraint on weights: the sum of the multiples is 0 or more, or is 0.
struct Constraint {
  std::vector<Integer> multiples = {};  ///< one for each term
  bool is_equation = false;
};

/// Returns the Pareto order of the sums of `low` and `high` terms at the corners of the weights that fulfil all
/// constraints; without children if there are none. There are at most three terms.
Preference sums_at_corners(const std::vector<Preference>& terms, const std::vector<Constraint>& constraints);

/// Returns the preference in which rows that meet a condition come first, and the others by violations.
Preference behind_condition(const ExpressionPtr& condition, const std::vector<ExpressionPtr>& violations,
                            Preference preference);

}  // namespace skyrank::differential
