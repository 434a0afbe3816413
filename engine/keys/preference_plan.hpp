#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/query/bound.hpp"
#include "kernels/common/problem.hpp"

// From a preference to skyline problems, before any data is touched.
namespace skyrank::exec {

/// Indices of terms that make one key, the first deciding.
using KeyTerms = std::vector<std::size_t>;

/// One skyline problem: its key columns, and how they combine (empty: flat Pareto, as in SkylineProblem).
struct SkylineStep {
  std::vector<KeyTerms> keys;
  std::vector<kernels::OrderNode> order;
};

/// The parts of a `prior` at the top become steps: the best rows are those that step 1 keeps and that step 2 keeps
/// among the rows with equal keys in step 1, and so on. Below the top, a prior of single terms is one key, and a single
/// key before a Pareto term goes into each of that term's keys; the general comparator is left with the other priors.
struct PreferencePlan {
  std::vector<query::BoundPreference> terms;
  std::vector<SkylineStep> steps;
};

PreferencePlan plan_preference(const query::BoundPreference& preference);

/// The terms of a step in the words of a query: "low price, prior(high rating, low distance)".
std::string describe(const PreferencePlan& plan, const SkylineStep& step);

}  // namespace skyrank::exec
