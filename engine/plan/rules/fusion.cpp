#include "engine/plan/rules/fusion.hpp"

#include "engine/keys/fused_keys.hpp"
#include "engine/operators/rank/rank.hpp"
#include "engine/operators/rank/rank_plan.hpp"
#include "engine/runtime/column_cache.hpp"
#include "planner/choose.hpp"

namespace skyrank::exec {
namespace {

/// Returns true if the ranking should take in the filter and the making of keys: it would take an algorithm that can,
/// or one that can is cheaper than another one and the making of keys.
bool better_fused(const PhysicalPlan& plan, const kernels::TopKShape& shape) {
  constexpr double kMaterialise = 2e-9;  // seconds for the key of a row and, with a filter, its id in memory
  const auto apart = rank_path(plan);
  if (apart.algorithm->supports(shape)) return true;
  try {
    const double saved = kMaterialise * static_cast<double>(shape.n) / plan.machine.threads;
    return planner::choose(shape, plan.constraints, plan.machine, plan.sample.ranking).seconds < apart.seconds + saved;
  } catch (const planner::NoPath&) {
    return false;
  }
}

void note_use(RuleLog& rules, const FusedUse& use) {
  const auto note = [&](Rule rule, const FusedUse::Entry& entry) {
    if (entry.used) return rules.applied(rule, entry.reason);
    rules.left_out(rule, entry.reason);
  };
  note(Rule::late_filter, use.late_filter);
  note(Rule::zone_maps, use.zone_maps);
  note(Rule::weighted_sum, use.weighted_sum);
  note(Rule::raw_floats, use.raw_floats);
}

}  // namespace

void fuse_ranking(PhysicalPlan& plan, const Table& table) {
  if (plan.on_device || plan.query.ranking.empty() || !plan.rules.rules().has(Rule::fusion)) return;
  if (!FusedKeys::fits(plan.query, table)) {
    return plan.rules.left_out(Rule::fusion,
                               "the query is more than a condition and the best rows of one ranking term");
  }
  const query::BoundRankTerm& term = plan.query.ranking.front();
  const bool may_have_map = term.expression.column >= 0 && !FusedKeys::puts_null_first(plan.query, table);
  if (may_have_map && plan.rules.rules().has(Rule::zone_maps)) {
    const ColumnData& column = table.column(term.expression.column).data();
    plan.sample.ranking.zone_map = cache_of(column)->zone_map(term.high) != nullptr;
  }
  const kernels::TopKShape shape = fused_shape(plan.query, table);
  if (!better_fused(plan, shape)) return plan.rules.left_out(Rule::fusion, "making the keys first is cheaper");
  plan.strategy = Strategy::fused_ranking;
  plan.selection = shape;
  plan.rules.applied(Rule::fusion, "cheaper than making the keys first");
  note_use(plan.rules, FusedKeys(plan.query, table, fused_options(plan)).use_of(shape.k));
  Operators& operators = plan.operators;
  operators.order->detail +=
      operators.filter ? "; fused with its keys and the filter " + operators.filter->detail : "; fused with its keys";
  operators.filter.reset();
  operators.rank_keys.reset();
}

}  // namespace skyrank::exec
