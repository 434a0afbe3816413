#pragma once

#include <optional>

#include <skyrank/table.hpp>

#include "engine/keys/preference_plan.hpp"
#include "engine/query/bound.hpp"
#include "engine/runtime/table_sample_cache.hpp"
#include "planner/choose.hpp"
#include "planner/sampling.hpp"

// Samples a table's rows for a query. It costs about a hundredth of the query's predicted time, once for each table and
// query: tables keep the result.
namespace skyrank::exec {

/// Returns the statistics of a sample, or those that the table keeps of an earlier one. For queries with `group_by`,
/// whose later stages work on another table, it samples only the condition and the groups. The result is empty for
/// small inputs, and if an expression fails on a sampled row, which the run will report. `guessed_share` is the
/// selectivity of the condition before it is sampled.
TableSample sample_table(const query::BoundQuery& query, const std::optional<PreferencePlan>& preference,
                         const Table& table, const planner::Machine& machine, double guessed_share);

}  // namespace skyrank::exec
