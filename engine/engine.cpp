#include <skyrank/engine.hpp>

#include <memory>
#include <string>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/device/resident.hpp"
#include "engine/executor/engine_state.hpp"
#include "engine/executor/key_columns.hpp"
#include "engine/executor/limits.hpp"
#include "engine/executor/observed_run.hpp"
#include "engine/executor/query_context.hpp"
#include "engine/executor/run_whole.hpp"
#include "engine/parts/gpus/spread.hpp"
#include "engine/parts/run_query.hpp"
#include "engine/parts/sources/checked_source.hpp"
#include "engine/plan/devices.hpp"
#include "engine/query/bound.hpp"
#include "engine/why/why.hpp"

// The path of a query is: bind, plan, run.
//   Query -> bind -> BoundQuery -> plan_query -> QueryPlan -> run_plan -> Result
namespace skyrank {
namespace {

/// Calls f(context, plan, input) for a query over a source, whose keys become columns of it.
template <class F>
auto with_source(const exec::EngineState& state, const Query& query, const Source& source, const RunOptions& options,
                 const F& f, const exec::KernelObserver& observer = {}) {
  const auto planned = [&](const exec::QueryContext& context) {
    const exec::CheckedSource checked(source);
    const query::KeyedQuery bound = exec::bind_to(query, checked.schema());
    return exec::with_keys(bound, checked, [&](const Source& keyed) {
      const exec::QueryInput input{.source = &keyed};
      return f(context, exec::plan_query(context, bound.query, input), input);
    });
  };
  return exec::with_context(state, query, options, planned, observer);
}

}  // namespace

Result exec::run_observed(const EngineState& state, const Query& query, const Table& table, const RunOptions& options,
                          const KernelObserver& observer) {
  const auto run = [&](const QueryContext& context) {
    const query::KeyedQuery bound = bind_to(query, table);
    return bound.keys.empty() ? run_table(context, bound.query, table) : run_keyed(context, bound, table);
  };
  return with_context(state, query, options, run, observer);
}

Result exec::run_observed(const EngineState& state, const Query& query, const Source& source, const RunOptions& options,
                          const KernelObserver& observer) {
  if (const auto table = source.table()) return run_observed(state, query, *table, options, observer);
  return with_source(state, query, source, options, run_plan, observer);
}

Engine::Engine(EngineOptions options) {
  if (options.threads < 0) {
    throw ResourceError("an engine needs 0 (all cores) or more threads, not " + std::to_string(options.threads));
  }
  exec::check_gpus(options.devices);
  state_ = std::make_unique<const State>(options);
  if (options.device == DeviceChoice::cuda) exec::require_cuda(state_->gpus);
}

Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

const std::vector<std::string>& Engine::warnings() const { return state_->warnings; }

std::size_t Engine::memory_limit() const { return state_->memory->limit(); }

Result Engine::run(const Query& query, const Table& table, const RunOptions& options) const {
  return exec::run_observed(*state_, query, table, options, {});
}

Result Engine::run(const Query& query, const Source& source, const RunOptions& options) const {
  return exec::run_observed(*state_, query, source, options, {});
}

Table Engine::pin(const Table& table, PinTime when) const {
  return exec::guarded(exec::Limits(Query(), {}, state_->timer), [&] {
    exec::require_cuda(state_->gpus);
    if (state_->gpus.size() > 1) return exec::spread_over_gpus(*state_, table, when == PinTime::now);
    const kernels::cuda::DeviceScope on_device(state_->gpu(0));
    Table pinned = exec::kept_on_device(table);
    if (when == PinTime::now) exec::copy_to_device(pinned);
    return pinned;
  });
}

void Engine::check(const Query& query, const Table& table) const { explain(query, table); }

PlanNode Engine::explain(const Query& query, const Table& table, const RunOptions& options) const {
  return exec::with_context(*state_, query, options, [&](const exec::QueryContext& context) {
    const query::KeyedQuery bound = exec::bind_to(query, table);
    if (!bound.keys.empty()) return exec::explain_keyed(context, bound, table);
    const exec::QueryInput input{.table = &table};
    return exec::explain_plan(context, exec::plan_query(context, bound.query, input), input);
  });
}

PlanNode Engine::explain(const Query& query, const Source& source, const RunOptions& options) const {
  if (const auto table = source.table()) return explain(query, *table, options);
  return with_source(*state_, query, source, options, [](const auto& context, const auto& plan, const auto& input) {
    return exec::explain_plan(context, plan, input);
  });
}

WhyNot Engine::why(const Query& query, const Table& table, RowId row, const RunOptions& options) const {
  return exec::with_context(*state_, query, options,
                            [&](const exec::QueryContext& context) { return exec::why(context, query, table, row); });
}

WhyNot Engine::why(const Query& query, const Source& source, RowId row, const RunOptions& options) const {
  if (const auto table = source.table()) return why(query, *table, row, options);
  return exec::with_context(*state_, query, options, [&](const exec::QueryContext& context) {
    return exec::why(context, query, exec::read_whole(query, exec::CheckedSource(source)), row);
  });
}

std::vector<std::string> Engine::columns_read(const Query& query, const std::vector<std::string>& table_columns) {
  return query::columns_read(query, table_columns);
}

}  // namespace skyrank
