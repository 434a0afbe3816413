#include "engine/plan/make_plan.hpp"

#include <memory>
#include <utility>

#include "engine/plan/layout.hpp"
#include "engine/plan/rules/device_groups.hpp"
#include "engine/plan/rules/device_keys.hpp"
#include "engine/plan/rules/device_rows.hpp"
#include "engine/plan/rules/device_scan.hpp"
#include "engine/plan/rules/filter_last.hpp"
#include "engine/plan/rules/fusion.hpp"
#include "engine/plan/rules/host_columns.hpp"
#include "engine/plan/rules/packed_ranking.hpp"
#include "engine/plan/rules/partition_top_k.hpp"
#include "engine/plan/rules/skyline_top_k.hpp"
#include "engine/plan/rules/statistics.hpp"

namespace skyrank::exec {
namespace {

/// A rule looks at the plan and the table, rewrites the plan where that pays, and notes in its log what it did and why.
using Rewrite = void (*)(PhysicalPlan&, const Table&);

/// The rules that rewrite a plan, in the order in which they apply: where keys are made decides what may be fused, and
/// a fused filter cannot come last.
constexpr Rewrite kRewrites[] = {
    make_keys_on_device,      // device-keys
    group_on_device,          // device-groups
    partition_on_device,      // device-partitions
    copy_columns_to_host,     // not a rule: what later rules and operators read on the host
    share_device_columns,     // device-columns
    try_device_scan,          // device-scan
    fuse_ranking,             // fusion, late-filter, zone-maps, weighted-sum, raw-floats
    keep_rows_on_device,      // device-rows
    select_before_skyline,    // skyline-top-k
    filter_after_skyline,     // filter-last
    pack_ranking,             // packed-ranking
    keep_best_of_partitions,  // partition-top-k
};

}  // namespace

PhysicalPlan make_plan(query::BoundQuery query, const Table& table, const planner::Constraints& constraints,
                       const planner::Machine& machine, const Rules& rules, int sharing_queries) {
  PhysicalPlan plan{std::move(query), std::nullopt, constraints, machine, {}};
  if (plan.query.condition) plan.condition = std::make_shared<const Ir>(lower(*plan.query.condition->root));
  plan.rules = RuleLog(rules);
  if (rules.has(Rule::device_columns) && machine.cuda) plan.sharing_queries = sharing_queries;
  if (plan.query.preference) plan.preference = plan_preference(*plan.query.preference);
  look_at_sample(plan, table);
  lay_out_operators(plan, table);
  for (const Rewrite rewrite : kRewrites) rewrite(plan, table);
  return plan;
}

}  // namespace skyrank::exec
