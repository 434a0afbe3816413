#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "engine/plan/physical_plan.hpp"
#include "planner/choose.hpp"

// Decides between two ways to run a part of a query by their prices: planner::prefers has the rule.
namespace skyrank::exec {

/// One of the ways between which a rule decides.
struct Way {
  std::string_view name;  ///< in words, for explain
  double seconds = 0;     ///< expected
};

/// Returns true if a rule takes the first of two ways. `at_high()` returns the seconds of both where more rows come
/// than expected; it is only asked if it `may_matter`, or if the choice is listed in `rules`.
template <class AtHigh>
bool prefers_first(RuleLog& rules, bool lists, Rule rule, const Way& first, const Way& second, const AtHigh& at_high,
                   bool may_matter = true) {
  planner::Price one{first.seconds, first.seconds};
  planner::Price other{second.seconds, second.seconds};
  if (lists || (may_matter && planner::as_good(first.seconds, second.seconds))) {
    const std::pair<double, double> high = at_high();
    one.high = std::max(one.high, high.first);
    other.high = std::max(other.high, high.second);
  }
  const bool taken = may_matter ? planner::prefers(one, other) : first.seconds < second.seconds;
  if (lists) {
    rules.decided({std::string(name_of(rule)),
                   {priced_candidate(std::string(first.name), one, taken),
                    priced_candidate(std::string(second.name), other, !taken)}});
  }
  return taken;
}

/// The same of a plan. `at_high(plan)` returns the seconds of both by a plan of which more rows come.
template <class AtHigh>
bool prefers_first(PhysicalPlan& plan, Rule rule, const Way& first, const Way& second, const AtHigh& at_high) {
  constexpr double kFewRows = 4096;  // are answered before a second plan could save anything
  return prefers_first(
      plan.rules, plan.constraints.lists_candidates, rule, first, second, [&] { return at_high(plan_at_high(plan)); },
      plan.operators.scan.estimate.rows.expected > kFewRows);
}

}  // namespace skyrank::exec
