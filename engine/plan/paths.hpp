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

/// How many partitions have a row to compare with another.
double partitions_to_solve(const Segments& segments);

/// The cost of a path that is taken once for each of many partitions, as many at a time as there are threads.
void price_repeated(PathDescription& path, double times, int threads);

/// Levels that are found one by one by another path than the first: "from level 2 on by blocked-bitmap".
std::string describe_lower_levels(const kernels::SkylineAlgorithm& path, std::int64_t from);

/// Levels that are found at once, in the words of a plan: "from level 3 on all levels at once by sweep on cpu".
std::string describe_at_once(const PhysicalPlan& plan, std::int64_t from);

/// The cost of all levels that a query wants of `rows` rows, instead of that of a first level of `level_rows`, which
/// the path has; says by which path the levels below are expected to be found, and from which level on at once.
void price_levels(PathDescription& path, const PhysicalPlan& plan, double rows, double level_rows);

/// The cost of a ranking of `count` partitions at once on the device, of `rows` rows together and by one key of
/// `key_bytes` bytes, `k` best rows of each.
void price_at_once(PathDescription& path, double count, double rows, double k, double key_bytes);

/// Chooses paths for the estimated sizes. Throws planner::NoPath.
void choose_paths(PhysicalPlan& plan);

}  // namespace skyrank::exec
