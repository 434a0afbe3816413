#pragma once

#include <skyrank/engine.hpp>
#include <skyrank/plan.hpp>

#include "engine/executor/query_context.hpp"
#include "engine/query/bind/keys.hpp"
#include "engine/query/bound.hpp"

// Queries over whole tables, as they are planned, on the engine's threads and on the GPU of the context.
namespace skyrank::exec {

/// Binds a query to a table, or to the schema of a source: first the texts that are names of columns, then the keys
/// that are expressions, then all of it. BindError at the place of the mistake.
query::KeyedQuery bind_to(const Query& query, const Table& schema);

/// Answers a query. Throws what Engine::run throws.
Result run_whole(const QueryContext& context, const query::BoundQuery& query, const Table& table);

/// Plans a query, without running it. Throws what Engine::explain throws.
PlanNode explain_whole(const QueryContext& context, const query::BoundQuery& query, const Table& table);

/// The same as `run_whole` where keys of groups or partitions are expressions.
Result run_keyed(const QueryContext& context, const query::KeyedQuery& query, const Table& table);

/// The same as `explain_whole` where keys of groups or partitions are expressions.
PlanNode explain_keyed(const QueryContext& context, const query::KeyedQuery& query, const Table& table);

}  // namespace skyrank::exec
