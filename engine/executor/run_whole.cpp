#include "engine/executor/run_whole.hpp"

#include "engine/executor/key_columns.hpp"
#include "engine/executor/memory_limit.hpp"
#include "engine/executor/plan_whole.hpp"
#include "engine/plan/forced_path.hpp"
#include "engine/plan/rules/make_plan.hpp"
#include "engine/plan/tree.hpp"
#include "engine/stop.hpp"
#include "kernels/common/memory.hpp"

namespace skyrank::exec {
namespace {

/// Plans a query on a thread of the engine.
PlanNode planned_tree(const QueryContext& context, const query::BoundQuery& query, const Table& table) {
  context.limits.enter("planning");
  check(context.stop());
  const kernels::AccountScope counted(context.engine.memory.get());
  PhysicalPlan plan = plan_whole(context, query, table);
  choose_paths(plan);
  return tree(plan);
}

/// Calls f on the engine's threads, and turns its errors into public ones: parts tell those of a GPU from others.
template <class F>
auto guarded_on_threads(const QueryContext& context, const F& f) {
  return guarded(context.limits, [&] { return context.on_threads(f); });
}

}  // namespace

query::KeyedQuery bind_to(const Query& query, const Table& schema) {
  query::KeyedQuery bound = query::bind_with_keys(query, schema);
  check_forced(query);
  return bound;
}

Result run_whole(const QueryContext& context, const query::BoundQuery& query, const Table& table) {
  return guarded_on_threads(context, [&] { return answer_within_limit(context, query, table); });
}

PlanNode explain_whole(const QueryContext& context, const query::BoundQuery& query, const Table& table) {
  return guarded_on_threads(context, [&] { return planned_tree(context, query, table); });
}

Result run_keyed(const QueryContext& context, const query::KeyedQuery& query, const Table& table) {
  return guarded_on_threads(context, [&] {
    const KeyScope keyed(context.engine, query, table);
    return answer_within_limit(context, query.query, keyed.table());
  });
}

PlanNode explain_keyed(const QueryContext& context, const query::KeyedQuery& query, const Table& table) {
  return guarded_on_threads(context, [&] {
    const KeyScope keyed(context.engine, query, table);
    return planned_tree(context, query.query, keyed.table());
  });
}

}  // namespace skyrank::exec
