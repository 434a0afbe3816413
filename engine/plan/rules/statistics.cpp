#include "engine/plan/rules/statistics.hpp"

#include <string>

#include "engine/plan/estimate.hpp"
#include "engine/plan/table_sample.hpp"

namespace skyrank::exec {

void look_at_sample(PhysicalPlan& plan, const Table& table) {
  if (!plan.rules.rules().has(Rule::statistics)) return;
  const double share = plan.condition ? guess_selectivity(*plan.condition) : 1;
  plan.sample = sample_table(plan.query, plan.preference, table, plan.machine, share);
  if (plan.sample.rows > 0) {
    plan.rules.applied(Rule::statistics,
                       std::to_string(plan.sample.rows) + " of " + std::to_string(table.num_rows()) + " rows");
  } else {
    plan.rules.left_out(Rule::statistics, "the query is too short for a sample to pay off");
  }
}

}  // namespace skyrank::exec
