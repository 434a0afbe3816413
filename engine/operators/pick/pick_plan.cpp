#include "engine/operators/pick/pick_plan.hpp"

#include <algorithm>
#include <string>

#include <skyrank/error.hpp>

#include "engine/plan/operator_cost.hpp"
#include "engine/query/enum_words.hpp"
#include "engine/text.hpp"

namespace skyrank::exec {
namespace {

std::string describe_pick(const Pick& pick) {
  std::string text = std::to_string(pick.count) + " by " + std::string(query::word_for(pick.by));
  if (pick.reference.empty()) return text;
  return text + "; reference: " + query::join(pick.reference, [](double value) { return format_number(value); });
}

/// Returns the cost of picking from `kept` rows of `all`, by the loops of kernels/cpu/pick.
OperatorCost pick_cost(const PhysicalPlan& plan, double kept, double all) {
  const auto count = std::min(static_cast<double>(plan.query.pick->count), kept);
  const auto terms = static_cast<double>(plan.preference->terms.size());
  switch (plan.query.pick->by) {
    case Pick::By::distance:
      return {start_and(count * kept * terms * unit_cost::kNode, plan.machine.threads), kept * terms * sizeof(double)};
    case Pick::By::coverage:
      return {start_and((kept + count) * all / plan.segments.expected * terms * unit_cost::kNode, plan.machine.threads),
              all * (1 + terms * sizeof(double))};
    case Pick::By::hypervolume: break;
  }
  return {start_and(count * (kept + count * count) * terms * unit_cost::kGatherValue, 1),
          kept * terms * sizeof(double)};
}

}  // namespace

planner::Cardinality lay_out_pick(PhysicalPlan& plan, const Table& /*table*/, const planner::Cardinality& rows) {
  if (!plan.query.pick) return rows;
  const auto is_tree = [](const SkylineStep& step) { return !step.order.empty(); };
  if (std::ranges::any_of(plan.preference->steps, is_tree)) {
    throw BindError(
        "'pick' by coverage counts rows of Pareto orders, one after another in 'prior'; this preference has a " +
            std::string("Pareto order within another"),
        plan.query.location);
  }
  const auto count = static_cast<double>(plan.query.pick->count);
  const planner::Cardinality most{count, plan.segments.expected * count, plan.segments.high * count};
  const planner::Cardinality left = min(most, rows);
  Operator& pick =
      plan.operators.pick.emplace(make_operator(OperatorKind::pick, describe_pick(*plan.query.pick), left));
  predict(pick, pick_cost(plan, rows.expected, plan.operators.skyline_keys->estimate.rows.expected));
  return left;
}

}  // namespace skyrank::exec
