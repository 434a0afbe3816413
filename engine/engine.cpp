#include <skyrank/engine.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/device/resident.hpp"
#include "engine/executor/engine_state.hpp"
#include "engine/executor/key_expressions.hpp"
#include "engine/executor/limits.hpp"
#include "engine/executor/memory_limit.hpp"
#include "engine/parts/gpus/by_gpus.hpp"
#include "engine/parts/gpus/plan_parts.hpp"
#include "engine/parts/gpus/spread.hpp"
#include "engine/parts/sources/checked_source.hpp"
#include "engine/parts/sources/source_run.hpp"
#include "engine/plan/devices.hpp"
#include "engine/plan/paths.hpp"
#include "engine/plan/tree.hpp"
#include "engine/query/bind/unknown_columns.hpp"
#include "engine/query/bound.hpp"
#include "engine/query/written_names.hpp"
#include "engine/stop.hpp"
#include "kernels/common/memory.hpp"

// The path of a query:
//   Query -> bind -> logical plan (BoundQuery) -> plan -> PhysicalPlan -> execute -> Result
// The engine's state binds and plans (executor/engine_state.hpp), the executor runs the plan (executor/executor.hpp).
namespace skyrank {

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
  if (const auto named = query::with_written_names(query, table)) return run(*named, table, options);
  if (const auto parts = exec::plan_gpu_parts(*state_, query, table, options)) {
    return exec::answer_by_gpus(*this, *state_, query, table, options, *parts);
  }
  exec::Limits limits(query, options, state_->timer);
  try {
    return exec::guarded(query, limits, [&] {
      const auto device = state_->gpu();
      std::optional<Result> result;
      state_->admission.run(limits.stop(), [&] {
        const kernels::cuda::DeviceScope on_device(device);
        const exec::KeyScope keyed(*state_, query, table, limits);
        result = exec::answer_within_limit(*state_, keyed.query(), keyed.table(), options, limits);
      });
      return std::move(*result);
    });
  } catch (const exec::GpuMemoryError&) {
    const auto parts = exec::smaller_parts(*state_, query, table);
    if (!parts) throw;
    return exec::answer_by_gpus(*this, *state_, query, table, options, *parts);
  }
}

Result Engine::run(const Query& query, const Source& source, const RunOptions& options) const {
  if (const auto table = source.table()) return run(query, *table, options);
  if (const auto named = query::with_written_names(query, source.schema())) return run(*named, source, options);
  const exec::CheckedSource checked(source);
  if (const auto keyed = exec::with_key_columns(query, checked)) {
    return exec::run_source(*this, *state_, keyed->query, *keyed->source, options);
  }
  return exec::run_source(*this, *state_, query, checked, options);
}

Table Engine::pin(const Table& table, Pin when) const {
  return exec::guarded({}, exec::Limits({}, {}, state_->timer), [&] {
    exec::require_cuda(state_->gpus);
    if (state_->gpus.size() > 1) return exec::spread_over_gpus(*state_, table, when == Pin::now);
    const kernels::cuda::DeviceScope on_device(state_->gpu(0));
    Table pinned = exec::kept_on_device(table);
    if (when == Pin::now) exec::copy_to_device(pinned);
    return pinned;
  });
}

void Engine::check(const Query& query, const Table& table) const { explain(query, table); }

PlanNode Engine::explain(const Query& query, const Table& table, const RunOptions& options) const {
  if (const auto named = query::with_written_names(query, table)) return explain(*named, table, options);
  if (const auto parts = exec::plan_gpu_parts(*state_, query, table, options)) {
    return exec::explain_by_gpus(*this, *state_, query, table, options, *parts);
  }
  exec::Limits limits(query, options, state_->timer);
  return exec::guarded(query, limits, [&] {
    const auto device = state_->gpu();
    std::optional<PlanNode> tree;
    state_->admission.run(limits.stop(), [&] {
      const kernels::cuda::DeviceScope on_device(device);
      limits.phase = "planning";
      const std::stop_token stop = limits.stop();
      const exec::StopScope stops(stop);
      exec::check(stop);
      const kernels::AccountScope counted(state_->memory.get());
      const exec::KeyScope keyed(*state_, query, table, limits);
      exec::PhysicalPlan plan = state_->plan(keyed.query(), keyed.table(), options);
      exec::choose_paths(plan);
      tree = exec::tree(plan);
    });
    return std::move(*tree);
  });
}

PlanNode Engine::explain(const Query& query, const Source& source, const RunOptions& options) const {
  if (const auto table = source.table()) return explain(query, *table, options);
  if (const auto named = query::with_written_names(query, source.schema())) return explain(*named, source, options);
  const exec::CheckedSource checked(source);
  if (const auto keyed = exec::with_key_columns(query, checked)) {
    return exec::explain_source(*this, *state_, keyed->query, *keyed->source, options);
  }
  return exec::explain_source(*this, *state_, query, checked, options);
}

std::vector<std::string> Engine::columns_read(const Query& query, const std::vector<std::string>& table_columns) {
  if (const auto named = query::with_written_names(query, table_columns)) return columns_read(*named, table_columns);
  // A reader that leaves out columns would leave out the nearest name, which the error offers.
  if (query::names_unknown_column(query, table_columns)) return table_columns;
  return query::columns_read(query, table_columns);
}

}  // namespace skyrank
