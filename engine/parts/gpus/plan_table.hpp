#pragma once

#include <optional>

#include <skyrank/table.hpp>

#include "engine/executor/query_context.hpp"
#include "engine/plan/query_plan.hpp"
#include "engine/query/bound.hpp"

// Decides whether a table is answered in parts on GPUs: because its rows lie on several of them, because several are
// faster than one, or because it does not fit the memory of one.
namespace skyrank::exec {

/// Plans a query over a table.
QueryPlan plan_table(const QueryContext& context, const query::BoundQuery& query, const Table& table);

/// Returns the plan for a table whose rows turned out not to fit the memory of a GPU at a time; nothing where the query
/// may not be answered in parts.
std::optional<QueryPlan> smaller_plan(const QueryContext& context, const QueryPlan& plan, const Table& table);

/// Returns a query for the CPU, whose paths are not forced.
query::BoundQuery query_on_host(const query::BoundQuery& query);

}  // namespace skyrank::exec
