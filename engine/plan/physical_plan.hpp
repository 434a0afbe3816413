#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/expression/ir.hpp"
#include "engine/keys/preference_plan.hpp"
#include "engine/plan/numbering.hpp"
#include "engine/plan/operator_cost.hpp"
#include "engine/plan/operators.hpp"
#include "engine/plan/rules.hpp"
#include "engine/plan/table_origin.hpp"
#include "engine/query/bound.hpp"
#include "engine/runtime/table_sample_cache.hpp"
#include "planner/choose.hpp"

// Describes the plan of a query over one table: its operators in order, their paths, and the strategy that runs them.
namespace skyrank::exec {

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
  planner::Cardinality segments = planner::Cardinality::exactly(1);  ///< partitions
  bool on_device = false;                                            ///< filters and keys are of the device
  Strategy strategy = Strategy::stages;
  std::optional<Strategy> fallback = {};             ///< answers if the strategy's guess is wrong; none: no guess
  std::optional<kernels::TopKShape> selection = {};  ///< problem of the fused ranking or of the skyline's prefix
  double fused_seconds = 0;                          ///< seconds of the condition and score of a fused ranking
  TableSample sample = {};                           ///< findings of a sample of the table
  RuleLog rules = RuleLog();
  Numbering numbering = Numbering::by_values;  ///< numbers groups or, without `group_by`, partitions
  bool counts_on_device = false;               ///< the GPU counts dominance, for measures and a skyband
  bool device_groups = false;                  ///< the GPU groups and aggregates the rows that pass the condition
  bool device_partitions = false;              ///< the GPU partitions the rows that it ranks
  bool partition_top_k = false;  ///< the best of each partition are kept in one pass, where a run finds few partitions
  bool rows_on_device = false;   ///< the skyline's rows stay on the device for what comes after it
  /// Number of queries, this one included, that share the columns which this one copies to the device; 0: they are not
  /// kept.
  int sharing_queries = 0;
  std::shared_ptr<const TableOrigin> origin = {};  ///< how the table came about; null: it is the caller's
};

/// Returns a plan as it is where more rows come than expected, within the doubt of the sample. Costs of its operators
/// are those of so many rows more.
PhysicalPlan plan_at_high(const PhysicalPlan& plan);

/// Returns a number of rows to plan for: a fraction of a row counts as one, but of an empty input none remain.
double at_least_one(double rows, double input);

/// Returns the rows of one partition if all partitions of `rows` rows are equally large.
std::int64_t segment_rows(const PhysicalPlan& plan, double rows);

/// Returns true if operators read a list of rows, and not all rows of the table.
bool is_listed(const PhysicalPlan& plan);

/// Returns of which rows keys are made; `listed` says if they are a list of rows of the table.
RowsOfKeys rows_of_keys(const PhysicalPlan& plan, const Table& table, double rows, bool listed);

/// Returns the width of the keys of an expression's values.
kernels::KeyWidth width_of(const query::BoundExpression& expression);

/// Returns an upper bound of the partitions with two rows or more, as each of them has a row beyond its first.
double partitions_to_solve(const PhysicalPlan& plan, double rows);

/// Returns the machine with the memory that is left for a kernel beside its keys and the operators before it.
planner::Machine machine_beside(const PhysicalPlan& plan, const std::optional<Operator>& keys);

}  // namespace skyrank::exec
