#include "engine/plan/rules/make_plan.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "engine/device/resident.hpp"
#include "engine/operators/filter/filter_plan.hpp"
#include "engine/operators/gather/gather_plan.hpp"
#include "engine/operators/group/group_plan.hpp"
#include "engine/operators/measure/measure_plan.hpp"
#include "engine/operators/missing/missing_plan.hpp"
#include "engine/operators/partition/partition_plan.hpp"
#include "engine/operators/pick/pick_plan.hpp"
#include "engine/operators/rank/rank_plan.hpp"
#include "engine/operators/scan/scan_plan.hpp"
#include "engine/operators/skyline/skyline_plan.hpp"
#include "engine/plan/rules/device_counts.hpp"
#include "engine/plan/rules/device_groups.hpp"
#include "engine/plan/rules/device_keys.hpp"
#include "engine/plan/rules/rewrites.hpp"
#include "engine/runtime/device_values.hpp"

namespace skyrank::exec {
namespace {

void copy_all(const std::vector<int>& columns, const Table& table) {
  for (const int column : columns) copy_to_host(table.column(column).data());
}

/// Returns the columns whose values the host groups or partitions by.
std::vector<int> columns_the_host_groups(const PhysicalPlan& plan) {
  if (plan.query.group) return plan.device_groups ? std::vector<int>() : columns_of_groups(*plan.query.group);
  return plan.device_partitions ? std::vector<int>() : plan.query.partition_columns;
}

/// Copies columns that callers have on a GPU to the host if the plan reads all of their values there. It is not a rule,
/// as it changes no plan; it runs once the plan says where keys are made.
void copy_columns_to_host(PhysicalPlan& plan, const Table& table) {
  copy_all(columns_the_host_groups(plan), table);
  if (!plan.on_device || plan.query.pick || plan.query.measures_values()) copy_all(columns_of_keys(plan.query), table);
}

/// An operator lays itself out after the ones before it, which give `rows` rows. Returns the rows that it gives.
using LayOut = planner::Cardinality (*)(PhysicalPlan& plan, const Table& table, const planner::Cardinality& rows);

/// The operators that a query may need, in the order in which they run.
constexpr LayOut kOperators[] = {
    lay_out_scan,    lay_out_filter,  lay_out_group, lay_out_having, lay_out_missing, lay_out_partition,
    lay_out_skyline, lay_out_measure, lay_out_pick,  lay_out_rank,   lay_out_gather,
};

/// A rule looks at the plan and the table, rewrites the plan where that pays, and notes in its log what it did and why.
using Rewrite = void (*)(PhysicalPlan&, const Table&);

/// The rules that rewrite a plan once device-keys has decided where keys are made, in the order in which they apply:
/// that decides what may be fused, and a fused filter cannot come last.
constexpr Rewrite kRewrites[] = {
    count_on_device,          // device-counts
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

PhysicalPlan rewritten(PhysicalPlan plan, const Table& table) {
  for (const Rewrite rewrite : kRewrites) rewrite(plan, table);
  return plan;
}

}  // namespace

PhysicalPlan make_plan(query::BoundQuery query, const Table& table, const planner::Constraints& constraints,
                       const planner::Machine& machine, const Rules& rules, int sharing_queries) {
  PhysicalPlan plan{std::move(query), std::nullopt, constraints, machine, {}};
  if (plan.query.condition) plan.condition = std::make_shared<const Ir>(lower(*plan.query.condition->root));
  plan.rules = RuleLog(rules);
  if (rules.has(Rule::device_columns) && machine.cuda) plan.sharing_queries = sharing_queries;
  if (plan.query.preference) plan.preference = plan_preference(*plan.query.preference);
  look_at_sample(plan, table);
  plan.numbering = plan.sample.far_apart ? Numbering::by_hashing : Numbering::by_values;
  auto rows = planner::Cardinality::exactly(static_cast<double>(table.num_rows()));
  for (const LayOut lay_out : kOperators) rows = lay_out(plan, table, rows);
  make_keys_on_device(plan, table);
  if (!may_make_keys_there(plan, table)) return rewritten(std::move(plan), table);
  PhysicalPlan there = plan;
  send_for_keys(there, table);
  there = rewritten(std::move(there), table);
  plan = rewritten(std::move(plan), table);
  return pays_to_send(there, plan) ? there : plan;
}

void choose_paths(PhysicalPlan& plan) {
  choose_skyline_paths(plan);
  choose_rank_path(plan);
}

}  // namespace skyrank::exec
