#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/plan.hpp>
#include <skyrank/table.hpp>

#include "engine/keys/fused_keys.hpp"
#include "engine/keys/preference_plan.hpp"
#include "engine/operators/partition.hpp"
#include "engine/plan/rules.hpp"
#include "engine/plan/table_sample.hpp"
#include "engine/query/bound.hpp"
#include "planner/choose.hpp"

namespace skyrank::exec {

/// The operators of a query, from its input to its answer. Those that a query does not need are absent.
struct Operators {
  PlanNode scan;
  std::optional<PlanNode> filter;
  std::optional<PlanNode> skyline_prefix;  ///< instead of the filter
  bool filter_last = false;                ///< the filter comes after the skyline
  std::optional<PlanNode> group;
  std::optional<PlanNode> missing;  ///< `nan` and `nulls` other than worst
  std::optional<PlanNode> partition;
  std::optional<PlanNode> skyline_keys;
  std::vector<PlanNode> skyline;  ///< one a step of the preference
  std::optional<PlanNode> rank_keys;
  std::optional<PlanNode> order;  ///< "top-k", "sort" or, without a ranking, "limit"
  PlanNode gather;
};

/// A query made ready to run: what is left to choose are the paths of its kernels, once the sizes are known.
struct PhysicalPlan {
  query::BoundQuery query;
  std::optional<PreferencePlan> preference;
  planner::Constraints constraints;
  planner::Machine machine;
  Operators operators;
  double segments = 1;                      ///< estimated number of partitions
  bool on_device = false;                   ///< filters and keys are of the device
  std::optional<kernels::TopKShape> fused;  ///< the top-k problem that takes the filter and the keys in
  TableSample sample = {};                  ///< findings of a sample of the table
  std::optional<kernels::TopKShape> skyline_prefix =
      {};  ///< the top-k problem among whose answer the skyline's best are
  RuleLog rules = RuleLog();
  bool rows_on_device = false;  ///< the skyline's rows stay on the device for what comes after it
  /// Queries that share the columns which this one brings to the device, itself among them; 0: it keeps none there.
  int sharers = 0;
};

/// Lays out the operators with their estimated rows; `sharers` as in the plan. BindError when a preference has too many
/// dimensions.
PhysicalPlan make_plan(query::BoundQuery query, const Table& table, const std::string& table_name,
                       const planner::Constraints& constraints, const planner::Machine& machine,
                       const Rules& rules = {}, int sharers = 0);

/// Returns what the plan's rules leave a source of fused keys to use.
FusedOptions fused_options(const PhysicalPlan& plan);

/// Returns true if ranking terms that fit into 64 bits together are to become one key.
bool packs_ranking(const PhysicalPlan& plan);

/// Returns what is known of the rows that the prefix of the skyline is looked for in.
planner::Statistics skyline_prefix_statistics(const PhysicalPlan& plan);

/// Returns what is assumed of the skyline of the selected rows: that most of the whole one's rows are in it.
planner::Statistics skyline_of_prefix(const PhysicalPlan& plan);

/// How many partitions have a row to compare with another.
double paths_taken(const Segments& segments);

/// The cost of a path that is taken once for each of many partitions, as many at a time as there are threads.
void repeat(PlanNode& node, double times, int threads);

/// Levels that are found at once, in the words of a plan: "from level 3 on all levels at once by sweep on cpu".
std::string describe_at_once(const PhysicalPlan& plan, std::int64_t from);

/// The cost of all levels that a query wants of `rows` rows, instead of that of a first level of `level_rows`, which
/// the node has; says from which level on they are expected to be found at once.
void price_levels(PlanNode& node, const PhysicalPlan& plan, double rows, double level_rows);

/// The cost of a ranking of `count` partitions at once on the device, of `rows` rows together and by one key of
/// `key_bytes` bytes, `k` best rows of each.
void price_at_once(PlanNode& node, double count, double rows, double k, double key_bytes);

/// Chooses paths for the estimated sizes. Throws planner::NoPath.
void choose_paths(PhysicalPlan& plan);

/// The operators as a tree: the last one is the root, which also says what became of the rules.
PlanNode tree(Operators operators, const RuleLog& rules);

/// Expressions that `nan` and `nulls` are about: all of the preference and the ranking but conditions of `where` terms,
/// in which NULL means "not true".
std::vector<const query::BoundExpression*> value_expressions(const PhysicalPlan& plan);

}  // namespace skyrank::exec
