#include "engine/plan/rules/device_keys.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/device/resident.hpp"
#include "engine/operators/filter/filter_plan.hpp"
#include "engine/operators/rank/rank_plan.hpp"
#include "engine/operators/skyline/skyline_plan.hpp"
#include "engine/plan/operator_cost.hpp"
#include "engine/plan/rules/decide.hpp"
#include "engine/plan/rules/device_counts.hpp"
#include "engine/plan/rules/device_groups.hpp"
#include "engine/runtime/column_cache.hpp"
#include "planner/choose.hpp"

namespace skyrank::exec {
namespace {

/// Returns true if all kernels of the query would run on the GPU.
bool would_run_there(PhysicalPlan& plan, const Table& table) {
  if (may_group_on_device(plan, table)) return pays_to_group_on_device(plan, table);
  if (may_partition_on_device(plan, table)) return pays_to_partition_on_device(plan, table);
  try {
    if (plan.operators.rank_keys && rank_path(plan).algorithm->device != kernels::Device::cuda) return false;
    if (plan.preference && counts_dominance(plan.query)) {
      PhysicalPlan there = plan;
      there.on_device = true;
      const bool pays = pays_to_count_on_device(there);
      if (!pays || plan.query.skyband) return pays;
    }
    double rows = plan.operators.skyline_keys ? plan.operators.skyline_keys->estimate.rows.expected : 0;
    for (std::size_t s = 0; s < plan.operators.skyline.size(); ++s) {
      if (step_path(plan, s, rows).algorithm->device != kernels::Device::cuda) return false;
      rows = plan.operators.skyline[s].estimate.rows.expected;
    }
    return plan.operators.rank_keys || plan.operators.skyline_keys;
  } catch (const planner::NoPath&) {
    return false;  // reported when paths are chosen
  }
}

/// Returns the sample by which paths are priced with keys that are made on the device of columns, of which some have to
/// go there first: for the operator that reads them first. Queries that share them pay a part each.
TableSample sample_there(const PhysicalPlan& plan, const Table& table) {
  TableSample sample = plan.sample;
  sample.preference.memory = sample.ranking.memory = kernels::Memory::device;
  const double unsent = residency_of(columns_of_keys(plan.query), table, plan.sharing_queries > 0).unsent;
  (plan.preference ? sample.preference : sample.ranking).unsent = unsent / std::max(1, plan.sharing_queries);
  return sample;
}

/// The columns that the device would read.
std::vector<int> columns_read_there(const PhysicalPlan& plan, const Table& table) {
  std::vector<int> columns = columns_of_keys(plan.query);
  if (!may_group_on_device(plan, table)) return columns;
  const std::vector<int> grouped = columns_of_groups(*plan.query.group);
  columns.insert(columns.end(), grouped.begin(), grouped.end());
  return columns;
}

/// Returns why the host reads all keys, for skybands and measures; nothing where it does not.
std::optional<std::string_view> why_host_reads_keys(const PhysicalPlan& plan) {
  if (counts_dominance(plan.query)) {
    if (!plan.rules.rules().has(Rule::device_counts)) return "skybands and measures of rows are counted by the CPU";
    return why_host_counts(plan);
  }
  if (plan.query.skyband) return "all rows are kept";
  return std::nullopt;
}

bool is_pinned(const std::vector<int>& columns, const Table& table) {
  return std::ranges::any_of(columns, [&](int column) { return pinned_here(table.column(column).data()) != nullptr; });
}

/// Filters and keys are of the device where all kernels have to run there, where columns that they read are nowhere
/// else, or where all kernels would run there and read a table that is pinned or whose columns stay there for later
/// queries.
bool keys_of_device(PhysicalPlan& plan, const Table& table) {
  if (!plan.machine.cuda || !plan.rules.rules().has(Rule::device_keys)) return false;
  if (const auto why = why_host_reads_keys(plan)) {
    plan.rules.left_out(Rule::device_keys, std::string(*why));
    return false;
  }
  if (plan.constraints.device == kernels::Device::cuda) {
    plan.sample = sample_there(plan, table);
    plan.rules.applied(Rule::device_keys, "all kernels have to run there");
    return true;
  }
  const std::vector<int> read = columns_read_there(plan, table);
  if (std::ranges::any_of(read, [&](int column) { return is_only_here(table.column(column).data()); })) {
    plan.sample = sample_there(plan, table);
    plan.rules.applied(Rule::device_keys, "columns are on the GPU already, and not on the host");
    return true;
  }
  const bool pinned = is_pinned(read, table);
  const bool by_rows = may_group_on_device(plan, table) || may_partition_on_device(plan, table);
  if (!pinned && plan.sharing_queries == 0 && !by_rows) {
    plan.rules.left_out(Rule::device_keys, "the table is not pinned");
    return false;
  }
  PhysicalPlan there = plan;
  there.sample = sample_there(plan, table);
  const bool runs_there = would_run_there(there, table);
  plan.rules = std::move(there.rules);
  if (!runs_there) {
    plan.rules.left_out(Rule::device_keys, "not all kernels would run there");
    return false;
  }
  plan.sample = there.sample;
  plan.rules.applied(Rule::device_keys, pinned ? "the table is pinned, and all kernels would run there"
                                        : plan.sharing_queries > 0
                                            ? "the columns are shared, and all kernels would run there"
                                            : "all kernels would run there, and the way there pays");
  return true;
}

/// Gives the operators that make what kernels on the device read to the device, at its prices.
void place_on_device(PhysicalPlan& plan, const Table& table) {
  Operators& operators = plan.operators;
  const auto place = [](std::optional<Operator>& op, const OperatorCost& cost) {
    op->device = kernels::Device::cuda;
    predict(*op, cost);
  };
  if (operators.filter) place(operators.filter, first_filter_cost(plan, table));
  if (operators.skyline_keys && !plan.query.group) {
    place(operators.skyline_keys,
          skyline_keys_cost(plan, table, operators.skyline_keys->estimate.rows.expected, is_listed(plan)));
  }
  for (std::optional<Operator>* op : {&operators.skyline_keys, &operators.rank_keys}) {
    if (*op) (*op)->device = kernels::Device::cuda;
  }
}

/// Returns the seconds of all operators, whose paths are chosen; nothing where there are none.
std::optional<double> seconds_by_paths(PhysicalPlan plan) {
  try {
    choose_skyline_paths(plan);
    choose_rank_path(plan);
  } catch (const planner::NoPath&) {
    return std::nullopt;
  }
  double ms = 0;
  for (const Operator* op : plan.operators.in_order()) ms += op->path ? op->path->predicted_ms : op->estimate.ms;
  return ms / 1e3;
}

bool runs_on_device(PhysicalPlan plan) {
  choose_skyline_paths(plan);
  choose_rank_path(plan);
  const auto is_there = [](const Operator& op) { return !op.path || op.path->device == kernels::Device::cuda; };
  const Operators& operators = plan.operators;
  return std::ranges::all_of(operators.skyline, is_there) && (!operators.order || is_there(*operators.order));
}

}  // namespace

bool may_make_keys_there(const PhysicalPlan& plan, const Table& table) {
  constexpr std::int64_t kFewRows = 4096;  // are answered before two plans could be compared
  if (plan.on_device || !plan.machine.cuda || plan.constraints.device || !plan.rules.rules().has(Rule::device_keys) ||
      plan.sharing_queries > 0 || table.num_rows() <= kFewRows || why_host_reads_keys(plan)) {
    return false;
  }
  if (plan.query.group || plan.operators.partition || !(plan.operators.skyline_keys || plan.operators.rank_keys)) {
    return false;  // the rule itself decides
  }
  const std::vector<int> read = columns_read_there(plan, table);
  constexpr double kBesideColumns = 2;  // the columns, and their keys
  const bool fits = kBesideColumns * residency_of(read, table).unsent <= plan.machine.device_bytes;
  return fits && !is_pinned(read, table);
}

void send_for_keys(PhysicalPlan& plan, const Table& table) {
  plan.sample = sample_there(plan, table);
  plan.on_device = true;
  place_on_device(plan, table);
}

bool pays_to_send(PhysicalPlan& there, PhysicalPlan& here) {
  const std::optional<double> on_gpu = seconds_by_paths(there);
  const std::optional<double> on_host = seconds_by_paths(here);
  if (!on_gpu || !on_host || !runs_on_device(there)) return false;
  const auto at_high = [&] {
    return std::pair(seconds_by_paths(plan_at_high(there)).value_or(*on_gpu),
                     seconds_by_paths(plan_at_high(here)).value_or(*on_host));
  };
  RuleLog log;
  const bool pays = prefers_first(log, here.constraints.lists_candidates, Rule::device_keys,
                                  {"of columns sent to the GPU", *on_gpu}, {"on the CPU", *on_host}, at_high);
  PhysicalPlan& taken = pays ? there : here;
  for (const PricedDecision& decision : log.decisions()) taken.rules.decided(decision);
  if (pays) {
    there.rules.applied(Rule::device_keys, "all kernels run there, and the way there pays");
  } else {
    here.rules.left_out(Rule::device_keys, "the table is not pinned, and the way to the GPU does not pay");
  }
  return pays;
}

void make_keys_on_device(PhysicalPlan& plan, const Table& table) {
  plan.on_device = keys_of_device(plan, table);
  if (plan.on_device) place_on_device(plan, table);
}

void share_device_columns(PhysicalPlan& plan, const Table& /*table*/) {
  if (!plan.machine.cuda) return;
  if (plan.sharing_queries == 0) return plan.rules.left_out(Rule::device_columns, "the engine was told to keep none");
  if (!plan.on_device) return plan.rules.left_out(Rule::device_columns, "keys are not made on the GPU");
  plan.rules.applied(Rule::device_columns, "the columns stay on the GPU; their transfer is spread over " +
                                               std::to_string(plan.sharing_queries) + " queries");
}

}  // namespace skyrank::exec
