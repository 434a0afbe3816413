#pragma once

#include <optional>

#include <skyrank/table.hpp>

#include "engine/keys/preference_plan.hpp"
#include "engine/query/bound.hpp"
#include "engine/runtime/table_sample_cache.hpp"
#include "planner/choose.hpp"

// Samples a table's rows for a query. It costs about a hundredth of the query's predicted time, once for each table and
// query: tables keep the result.
namespace skyrank::exec {

/// Looks at a sample of the rows, or remembers what was seen in it. Of queries with `group_by`, whose later stages work
/// on another table, only the condition and the groups are looked at; nothing is of small inputs, and where an
/// expression fails on a sampled row: the error is for the run to report. `guessed_share` of the rows are taken to pass
/// the condition until a sample tells.
TableSample sample_table(const query::BoundQuery& query, const std::optional<PreferencePlan>& preference,
                         const Table& table, const planner::Machine& machine, double guessed_share);

}  // namespace skyrank::exec
