#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/plan/operator_cost.hpp"
#include "engine/plan/physical_plan.hpp"
#include "planner/choose.hpp"
#include "planner/cost/cuda_counts.hpp"

// Plans `prefer`: keys and skylines, and prices levels and counts of dominance.
namespace skyrank::exec {

/// Lays out the keys of a preference and a skyline for each of its steps. Returns the rows that are expected to be
/// left.
planner::Cardinality lay_out_skyline(PhysicalPlan& plan, const Table& table, const planner::Cardinality& rows);

/// Numbers of dominators that are needed: all, or those up to the limit of a skyband.
enum class Counting : std::uint8_t { exact, limited };

/// Returns the cost of counting, for so many rows, the rows of `compared` that dominate them, in each partition.
OperatorCost counting_cost(const PhysicalPlan& plan, double rows, double compared, Counting counting);

/// Returns the cost of finding the rows of the query's skyband, `kept` of `all`, on a device, and their levels.
OperatorCost skyband_cost(const PhysicalPlan& plan, double all, double kept, kernels::Device device);

/// Returns the shape of counting, for `asking` rows, which of `rows` they dominate, on the GPU.
planner::cost::CountShape count_shape(const PhysicalPlan& plan, double rows, double asking);

/// Returns the cost of work on the GPU, with what its start costs the query.
OperatorCost device_cost(const PhysicalPlan& plan, const planner::cost::Cost& cost);

/// Returns the width of the keys of a preference's term.
kernels::KeyWidth width_of(const query::BoundPreference& term);

/// Returns the width of the combined keys of a step of a preference.
kernels::KeyWidth width_of(const PreferencePlan& plan, const SkylineStep& step);

/// Returns the statistics of the rows among which the skyline's prefix is searched.
planner::Statistics skyline_prefix_statistics(const PhysicalPlan& plan);

/// Returns the assumed statistics of the skyline of rows that a selection by the ranking leaves: most of them are in
/// it.
planner::Statistics skyline_of_prefix(const PhysicalPlan& plan, const kernels::TopKShape& selection);

/// Returns the expressions of the preference's terms.
std::vector<const query::BoundExpression*> preference_expressions(const PhysicalPlan& plan);

/// Returns the cost of the preference's keys for `rows` rows: all of the table or, if `listed`, those that pass its
/// condition.
OperatorCost skyline_keys_cost(const PhysicalPlan& plan, const Table& table, double rows, bool listed);

/// Returns the path of a step of the preference for `rows` rows, with what the plan knows of them.
planner::Choice<kernels::SkylineAlgorithm> step_path(const PhysicalPlan& plan, std::size_t s, double rows);

/// Returns the path of a step for `rows` rows of which `statistics` are known.
planner::Choice<kernels::SkylineAlgorithm> step_path(const PhysicalPlan& plan, std::size_t s, double rows,
                                                     const planner::Statistics& statistics);

/// Chooses the paths of all steps for the estimated sizes. Throws planner::NoPath, as all choices here do.
void choose_skyline_paths(PhysicalPlan& plan);

/// Describes levels that another path than the first one's finds one by one: "from level 2 on by blocked-bitmap".
std::string describe_lower_levels(const kernels::SkylineAlgorithm& path, std::int64_t from);

/// Describes levels that are found together: "from level 3 on all levels at once by sweep on cpu".
std::string describe_at_once(const PhysicalPlan& plan, std::int64_t from);

/// Replaces the predicted time of the first level, which has `level_rows` of `rows` rows, by that of all levels that
/// the query asks for. Adds to the reason which path finds the lower levels, and from which level on they are found
/// together.
void price_levels(PathDescription& path, const PhysicalPlan& plan, double rows, double level_rows);

}  // namespace skyrank::exec
