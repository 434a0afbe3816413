#include <algorithm>

#include "engine/operators/rank/partition_top_k.hpp"
#include "engine/operators/rank/rank.hpp"
#include "engine/operators/rank/rank_plan.hpp"
#include "engine/operators/window.hpp"
#include "engine/plan/operator_cost.hpp"
#include "engine/plan/rules/rewrites.hpp"

namespace skyrank::exec {
namespace {

/// Returns why partitions are to be ranked one by one; nothing where the best of all can be kept in one pass.
const char* why_one_by_one(const PhysicalPlan& plan) {
  if (plan.preference) return "each partition has a skyline";
  if (!plan.constraints.algorithms.empty()) return "an algorithm was asked for";
  if (plan.on_device) return "keys are made on the GPU";
  if (!keeps_best_in_order(window_of(plan.query))) return "more than a few rows of each partition may be asked for";
  if (packed_widths(ranking_widths(plan), packs_ranking(plan)).size() > 1) return "the ranking needs several keys";
  return nullptr;
}

}  // namespace

void keep_best_of_partitions(PhysicalPlan& plan, const Table& /*table*/) {
  Operators& operators = plan.operators;
  if (!operators.partition || plan.query.ranking.empty() || !plan.rules.rules().has(Rule::partition_top_k)) return;
  if (const char* const why = why_one_by_one(plan)) return plan.rules.left_out(Rule::partition_top_k, why);
  plan.partition_top_k = true;
  operators.order->note = "the best of each partition are kept in one pass over the keys";
  operators.order->estimate.ms =
      operators.rank_keys->estimate.rows.expected * unit_cost::kBeaten * 1e3 / std::max(plan.machine.threads, 1);
  plan.rules.applied(Rule::partition_top_k, "rows need not be sorted by partition");
}

}  // namespace skyrank::exec
