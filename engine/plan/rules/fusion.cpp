#include <algorithm>

#include "engine/keys/fused_keys.hpp"
#include "engine/operators/rank/rank.hpp"
#include "engine/operators/rank/rank_plan.hpp"
#include "engine/plan/operator_cost.hpp"
#include "engine/plan/rules/decide.hpp"
#include "engine/plan/rules/rewrites.hpp"
#include "engine/runtime/column_cache.hpp"
#include "planner/choose.hpp"
#include "planner/cost/candidates.hpp"

namespace skyrank::exec {
namespace {

/// Returns the seconds of the rows' scores in a fused ranking, beyond their keys. A sum of columns takes no longer than
/// these take to come from memory.
double score_seconds(const PhysicalPlan& plan, double rows, const FusedUse& use) {
  constexpr double kShareOfSum = 0.5;  // where nothing is interpreted
  const query::BoundExpression& score = plan.query.ranking.front().expression;
  if (score.column >= 0) return 0;
  const Ir ir = lower(*score.root);
  const double computed = (use.weighted_sum.used ? kShareOfSum : 1) * rows * evaluation_seconds(ir);
  const int threads = std::max(plan.machine.threads, 1);
  return std::max(computed / threads, memory_seconds(ir, rows, 0, threads));
}

/// Returns the seconds that a fused ranking takes for its expressions, of which its model knows nothing. Before the
/// filter or after it, the rows up to the bound are looked at one by one.
double seconds_of_expressions(const PhysicalPlan& plan, const kernels::TopKShape& shape, const FusedUse& use) {
  const auto rows = static_cast<double>(shape.n);
  const int threads = std::max(plan.machine.threads, 1);
  double seconds = score_seconds(plan, rows, use);
  if (plan.condition) {
    const planner::Statistics& ranking = plan.sample.ranking;
    const auto candidates = planner::cost::candidates_of(shape, ranking);
    const double row = evaluation_seconds(*plan.condition);
    const double listed = std::min(candidates.tested, rows * ranking.selectivity) * unit_cost::kListRow;
    const double computed = candidates.late ? candidates.tested * row : rows * (row + unit_cost::kBlockRow) + listed;
    const double memory = candidates.late ? 0 : memory_seconds(*plan.condition, rows, 0, threads);
    seconds += std::max(computed / threads, memory);
  }
  return seconds;
}

/// Returns the seconds of the ranking that takes in the filter and the making of keys.
double seconds_fused(const PhysicalPlan& plan, const kernels::TopKShape& shape, const FusedUse& use) {
  return planner::choose(shape, plan.constraints, plan.machine, plan.sample.ranking).seconds +
         seconds_of_expressions(plan, shape, use);
}

/// Returns the seconds of the filter, the making of keys and the ranking, one after the other.
double seconds_apart(const PhysicalPlan& plan) {
  const Operators& operators = plan.operators;
  const double before = operators.rank_keys->estimate.ms + (operators.filter ? operators.filter->estimate.ms : 0);
  const double starts = (operators.filter ? 2 : 1) * unit_cost::kStart;  // a few rows are ranked in less
  return rank_path(plan).seconds + before * 1e-3 - starts;
}

/// Returns true if the ranking should take in the filter and the making of keys: an algorithm that can is cheaper than
/// another one, the filter and the making of keys. One that was asked for takes them in whatever it costs, as it would
/// otherwise not be seen to.
bool better_fused(PhysicalPlan& plan, const kernels::TopKShape& shape, const FusedUse& use) {
  const double apart = seconds_apart(plan);
  try {
    const double fused = seconds_fused(plan, shape, use);
    if (!plan.constraints.algorithms.empty()) return true;
    return prefers_first(plan, Rule::fusion, {"one pass", fused}, {"keys first", apart}, [&](const PhysicalPlan& high) {
      return std::pair(seconds_fused(high, shape, use), seconds_apart(high));
    });
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
  const FusedUse use = FusedKeys(plan.query, table, fused_options(plan)).use_of(shape.k);
  if (!better_fused(plan, shape, use)) return plan.rules.left_out(Rule::fusion, "making the keys first is cheaper");
  plan.strategy = Strategy::fused_ranking;
  plan.selection = shape;
  plan.fused_seconds = seconds_of_expressions(plan, shape, use);
  plan.rules.applied(Rule::fusion, "cheaper than making the keys first");
  note_use(plan.rules, use);
  Operators& operators = plan.operators;
  operators.order->detail +=
      operators.filter ? "; fused with its keys and the filter " + operators.filter->detail : "; fused with its keys";
  operators.filter.reset();
  operators.rank_keys.reset();
}

}  // namespace skyrank::exec
