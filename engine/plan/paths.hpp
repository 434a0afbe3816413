#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/operators/partition.hpp"
#include "engine/plan/physical_plan.hpp"
#include "planner/choose.hpp"

// Chooses the paths of a plan's kernels for the estimated sizes, and prices what runs a path several times.
namespace skyrank::exec {

/// Returns the path of the ranking. Throws planner::NoPath, as all choices here do.
planner::Choice<kernels::TopKAlgorithm> rank_path(const PhysicalPlan& plan);

/// Returns the path of a step of the preference for `rows` rows, with what the plan knows of them.
planner::Choice<kernels::SkylineAlgorithm> step_path(const PhysicalPlan& plan, std::size_t s, double rows);

/// Returns the path of a step for `rows` rows of which `statistics` are known.
planner::Choice<kernels::SkylineAlgorithm> step_path(const PhysicalPlan& plan, std::size_t s, double rows,
                                                     const planner::Statistics& statistics);

/// Returns the number of partitions with two rows or more; the others need no kernel.
double partitions_to_solve(const Segments& segments);

/// Multiplies the predicted time of a path that runs `times` times, once for each partition, on `threads` threads.
void price_repeated(PathDescription& path, double times, int threads);

/// Describes levels that another path than the first one's finds one by one: "from level 2 on by blocked-bitmap".
std::string describe_lower_levels(const kernels::SkylineAlgorithm& path, std::int64_t from);

/// Describes levels that are found together: "from level 3 on all levels at once by sweep on cpu".
std::string describe_at_once(const PhysicalPlan& plan, std::int64_t from);

/// Replaces the predicted time of the first level, which has `level_rows` of `rows` rows, by that of all levels that
/// the query asks for. Adds to the reason which path finds the lower levels, and from which level on they are found
/// together.
void price_levels(PathDescription& path, const PhysicalPlan& plan, double rows, double level_rows);

/// Replaces the predicted time by that of one launch on the device that ranks all partitions: `count` partitions with
/// `rows` rows in all, one key of `key_bytes` bytes a row, the `k` best rows of each.
void price_at_once(PathDescription& path, double count, double rows, double k, double key_bytes);

/// Chooses paths for the estimated sizes. Throws planner::NoPath.
void choose_paths(PhysicalPlan& plan);

}  // namespace skyrank::exec
