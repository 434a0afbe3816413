#pragma once

#include <skyrank/table.hpp>

#include "engine/plan/physical_plan.hpp"

// The rules that a plan is made by, each in a source of its name; those of several functions have headers of their own.
namespace skyrank::exec {

/// Rule `statistics`: samples the table, where the query is long enough for that to pay. A sample costs at most about a
/// fiftieth of the time of what it tells, once for each table and query: tables keep the result.
void look_at_sample(PhysicalPlan& plan, const Table& table);

/// Rule `device-scan`: tries to filter and rank in one scan of the columns on the GPU. Only a run knows whether the
/// scan can read them as they are there, so the plan falls back to its stages.
void try_device_scan(PhysicalPlan& plan, const Table& table);

/// Rule `fusion`: lets the ranking take in the filter and the making of keys, in one pass over the columns.
void fuse_ranking(PhysicalPlan& plan, const Table& table);

/// Rule `device-rows`: keeps the rows of the skyline on the GPU for its further levels, or if only some are the answer.
void keep_rows_on_device(PhysicalPlan& plan, const Table& table);

/// Rule `skyline-top-k`: selects rows by the ranking before the skyline, if only the first of the skyline are asked
/// for.
void select_before_skyline(PhysicalPlan& plan, const Table& table);

/// Rule `filter-last`: filters after the skyline if that gives the same rows and is cheaper: keys of all rows are made
/// faster than those of scattered rows, and on the GPU no list of rows is made before.
void filter_after_skyline(PhysicalPlan& plan, const Table& table);

/// Rule `packed-ranking`: notes how many keys the terms of the ranking become.
void pack_ranking(PhysicalPlan& plan, const Table& table);

/// Rule `partition-top-k`: keeps the best rows of each partition while the rows pass, instead of bringing the rows of
/// each partition together and ranking them. A run falls back where there are too many partitions.
void keep_best_of_partitions(PhysicalPlan& plan, const Table& table);

}  // namespace skyrank::exec
