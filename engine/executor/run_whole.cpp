#include "engine/executor/run_whole.hpp"

#include "engine/executor/key_expressions.hpp"
#include "engine/executor/limits.hpp"
#include "engine/executor/memory_limit.hpp"
#include "engine/plan/forced_path.hpp"
#include "engine/plan/rules/make_plan.hpp"
#include "engine/plan/tree.hpp"
#include "kernels/common/memory.hpp"

namespace skyrank::exec {
namespace {

/// Plans a query on a thread of the engine.
PlanNode planned_tree(const EngineState& engine, const query::BoundQuery& query, const Table& table,
                      const RunOptions& options, Limits& limits) {
  limits.phase = "planning";
  check(options.stop);
  const kernels::AccountScope counted(engine.memory.get());
  PhysicalPlan plan = engine.plan(query, table, options);
  choose_paths(plan);
  return tree(plan);
}

}  // namespace

query::BoundQuery bind_to(const Query& query, const Table& schema) {
  query::refuse_unsupported(query, schema.unsupported());
  query::BoundQuery bound = query::bind(query, query::schema_of(schema));
  check_forced(query);
  return bound;
}

Result run_whole(const EngineState& engine, const query::BoundQuery& query, const Table& table,
                 const RunOptions& options) {
  return limited_as_a_whole(query, options, engine.timer, [&](const RunOptions& run, Limits& limits) {
    return engine.on_threads(run.stop, [&] { return answer_within_limit(engine, query, table, run, limits); });
  });
}

PlanNode explain_whole(const EngineState& engine, const query::BoundQuery& query, const Table& table,
                       const RunOptions& options) {
  return limited_as_a_whole(query, options, engine.timer, [&](const RunOptions& run, Limits& limits) {
    return engine.on_threads(run.stop, [&] { return planned_tree(engine, query, table, run, limits); });
  });
}

Result run_keyed(const EngineState& engine, const Query& query, const Table& table, const RunOptions& options) {
  return limited_as_a_whole(query, options, engine.timer, [&](const RunOptions& run, Limits& limits) {
    return engine.on_threads(run.stop, [&] {
      const KeyScope keyed(engine, query, table);
      return answer_within_limit(engine, bind_to(keyed.query(), keyed.table()), keyed.table(), run, limits);
    });
  });
}

PlanNode explain_keyed(const EngineState& engine, const Query& query, const Table& table, const RunOptions& options) {
  return limited_as_a_whole(query, options, engine.timer, [&](const RunOptions& run, Limits& limits) {
    return engine.on_threads(run.stop, [&] {
      const KeyScope keyed(engine, query, table);
      return planned_tree(engine, bind_to(keyed.query(), keyed.table()), keyed.table(), run, limits);
    });
  });
}

}  // namespace skyrank::exec
