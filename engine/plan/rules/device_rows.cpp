#include <algorithm>

#include "engine/expression/patterns.hpp"
#include "engine/plan/rules/rewrites.hpp"

namespace skyrank::exec {

void keep_rows_on_device(PhysicalPlan& plan, const Table& /*table*/) {
  if (!plan.preference || !plan.on_device || !plan.rules.rules().has(Rule::device_rows)) return;
  const auto leave_out = [&](const char* why) { plan.rules.left_out(Rule::device_rows, why); };
  const query::BoundQuery& query = plan.query;
  const bool more_levels = query.levels.value_or(1) > 1 || query.at_least.has_value();
  if (!query.limit && !more_levels) return leave_out("all rows of the skyline are the answer");
  if (plan.preference->steps.size() > 1) return leave_out("the preference has several steps");
  if (query.pick) return leave_out("rows are picked by the host");
  if (query.skyband) return leave_out("the rows of a skyband are listed by the host");
  if (query.distinct) return leave_out("equal rows are dropped by the host");
  // Rows of several segments are not ascending there, and the first that fails would not be the one to name.
  const auto fails = [](const query::BoundRankTerm& term) { return !never_fails(term.expression); };
  if (!query.partition_columns.empty() && std::ranges::any_of(query.ranking, fails)) {
    return leave_out("the ranking may fail on a row, which the host names");
  }
  plan.rows_on_device = true;
  plan.rules.applied(Rule::device_rows, "only the rows of the answer come to the host");
}

}  // namespace skyrank::exec
