#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/expression/ir.hpp"
#include "engine/keys/fused_keys.hpp"
#include "engine/keys/preference_plan.hpp"
#include "engine/operators/groups/classes.hpp"
#include "engine/operators/kernel_path.hpp"
#include "engine/plan/rules.hpp"
#include "engine/plan/table_origin.hpp"
#include "engine/plan/table_sample.hpp"
#include "engine/query/bound.hpp"
#include "planner/choose.hpp"

namespace skyrank::exec {

/// The kinds of operators. A plan has at most one of each kind, but a skyline for each step of its preference.
enum class OperatorKind : std::uint8_t {
  scan,
  filter,
  skyline_prefix,  ///< the selection of rows by the ranking, before a skyline
  group,
  missing,  ///< `nan` and `nulls` other than worst
  partition,
  skyline_keys,
  skyline,
  rank_keys,
  top_k,
  sort,
  limit,
  gather,
};

/// The expected output and cost of an operator.
struct Estimate {
  double rows = 0;   ///< rows that it gives
  double ms = 0;     ///< its own time
  double bytes = 0;  ///< temporary memory
};

/// An operator of a plan.
struct Operator {
  OperatorKind kind = OperatorKind::scan;
  std::string detail;  ///< the parts of the query that it works on, in its words
  Estimate estimate = {};
  std::size_t step = 0;                        ///< step of the preference, for a skyline
  std::optional<kernels::Device> device = {};  ///< device of an operator without a choice of kernels
  std::optional<PathDescription> path = {};    ///< the kernel's path for the estimated sizes, once chosen
  std::vector<std::pair<std::string, double>> statistics = {};  ///< sampled values behind the estimate
  std::string note = {};                                        ///< a remark for explain
};

/// The operators of a query, from its input to its answer. Those that a query does not need are absent.
struct Operators {
  Operator scan;
  std::optional<Operator> filter;
  std::optional<Operator> skyline_prefix;  ///< instead of the filter
  bool filter_last = false;                ///< the filter comes after the skyline
  std::optional<Operator> group;
  std::optional<Operator> missing;
  std::optional<Operator> partition;
  std::optional<Operator> skyline_keys;
  std::vector<Operator> skyline;  ///< one for each step of the preference
  std::optional<Operator> rank_keys;
  std::optional<Operator> order;  ///< a top-k, a sort or, without a ranking, a limit
  Operator gather;
};

/// The strategies to execute a plan. A strategy that relies on a guess has a fallback in the plan.
enum class Strategy : std::uint8_t {
  stages,          ///< all operators, one after the other; always possible
  fused_ranking,   ///< the ranking filters and makes its keys in one pass over the columns
  device_scan,     ///< a guess: one scan on the device filters and ranks, if it can read the columns as they are there
  skyline_prefix,  ///< a guess: the first rows of the skyline are among the best rows of the ranking
};

/// A query made ready to run. A run chooses the paths of kernels once it knows the exact sizes.
struct PhysicalPlan {
  query::BoundQuery query;
  std::optional<PreferencePlan> preference;
  planner::Constraints constraints;
  planner::Machine machine;
  Operators operators;
  /// The query's condition as costs read it; null: it has none. Lowered once, as lists of `in` may be long.
  std::shared_ptr<const Ir> condition = {};
  double segments = 1;     ///< estimated number of partitions
  bool on_device = false;  ///< filters and keys are of the device
  Strategy strategy = Strategy::stages;
  std::optional<Strategy> fallback = {};             ///< answers if the strategy's guess is wrong; none: no guess
  std::optional<kernels::TopKShape> selection = {};  ///< problem of the fused ranking or of the skyline's prefix
  TableSample sample = {};                           ///< findings of a sample of the table
  RuleLog rules = RuleLog();
  Numbering numbering = Numbering::by_values;  ///< numbers groups or, without `group_by`, partitions
  bool device_groups = false;                  ///< the GPU groups and aggregates the rows that pass the condition
  bool device_partitions = false;              ///< the GPU partitions the rows that it ranks
  bool partition_top_k = false;  ///< the best of each partition are kept in one pass, where a run finds few partitions
  bool rows_on_device = false;   ///< the skyline's rows stay on the device for what comes after it
  /// Number of queries, this one included, that share the columns which this one copies to the device; 0: they are not
  /// kept.
  int sharing_queries = 0;
  std::shared_ptr<const TableOrigin> origin = {};  ///< how the table came about; null: it is the caller's
};

/// Returns a number of rows to plan for: a fraction of a row counts as one, but of an empty input none remain.
double at_least_one(double rows, double input);

/// Returns the rows of one partition if all partitions of `rows` rows are equally large.
std::int64_t segment_rows(const PhysicalPlan& plan, double rows);

/// Returns true if operators read a list of rows, and not all rows of the table.
bool is_listed(const PhysicalPlan& plan);

/// Returns the width of the keys of an expression's values.
kernels::KeyWidth width_of(const query::BoundExpression& expression);

/// Returns the width of the keys of a preference's term.
kernels::KeyWidth width_of(const query::BoundPreference& term);

/// Returns the width of the combined keys of a step of a preference.
kernels::KeyWidth width_of(const PreferencePlan& plan, const SkylineStep& step);

/// Returns the widths of the keys of the ranking's terms, before packing.
std::vector<kernels::KeyWidth> ranking_widths(const PhysicalPlan& plan);

/// Returns the options of fused keys that the plan's rules allow.
FusedOptions fused_options(const PhysicalPlan& plan);

/// Returns true if ranking terms that fit into 64 bits together are to become one key.
bool packs_ranking(const PhysicalPlan& plan);

/// Returns the statistics of the rows among which the skyline's prefix is searched.
planner::Statistics skyline_prefix_statistics(const PhysicalPlan& plan);

/// Returns the assumed statistics of the skyline of rows that a selection by the ranking leaves: most of them are in
/// it.
planner::Statistics skyline_of_prefix(const PhysicalPlan& plan, const kernels::TopKShape& selection);

/// Returns the expressions to which `nan` and `nulls` apply: all of the preference and the ranking, except the
/// conditions of `where` terms, in which NULL means "not true".
std::vector<const query::BoundExpression*> value_expressions(const query::BoundQuery& query);

}  // namespace skyrank::exec
