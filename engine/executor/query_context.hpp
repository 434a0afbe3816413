#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <skyrank/engine.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/executor/limits.hpp"
#include "engine/plan/table_origin.hpp"
#include "engine/runtime/execution_context.hpp"
#include "engine/stop.hpp"
#include "kernels/cuda/runtime/scope.hpp"

namespace skyrank::exec {

/// Everything that a query and all of its parts need to be planned and run, besides their tables. It goes through every
/// call from the public Engine to the operators; a part gets a copy, with a GPU of its own. The limits outlive all
/// copies.
struct QueryContext {
  QueryContext(const EngineState& engine_state, Limits& query_limits, const RunOptions& options,
               KernelObserver kernel_observer = {})
      : engine(engine_state),
        limits(query_limits),
        count_work(options.count_work),
        lists_candidates(options.candidates),
        later_queries(options.later_queries),
        gpu(engine_state.gpu(0)),
        observer(std::move(kernel_observer)) {}

  const EngineState& engine;
  Limits& limits;                                  ///< the stop and the time limit of the whole query
  bool count_work;                                 ///< RunOptions::count_work
  bool lists_candidates;                           ///< RunOptions::candidates
  int later_queries;                               ///< RunOptions::later_queries
  kernels::cuda::SelectedDevice gpu;               ///< runs the CUDA paths
  KernelObserver observer;                         ///< null: nobody listens
  std::shared_ptr<const TableOrigin> origin = {};  ///< how the table came about; null: it is the caller's

  std::stop_token stop() const { return limits.stop(); }

  /// Returns the context of a part on another GPU.
  QueryContext on(const kernels::cuda::SelectedDevice& device) const {
    QueryContext there = *this;
    there.gpu = device;
    return there;
  }

  /// Returns the context of a query over a table that came about so.
  QueryContext over(std::shared_ptr<const TableOrigin> table_origin) const {
    QueryContext rest = *this;
    rest.origin = std::move(table_origin);
    return rest;
  }

  /// Does work on the engine's threads and on the GPU, and returns what it returns. Throws what it throws, and
  /// kernels::Cancelled where the stop comes before it begins.
  template <class F>
  auto on_threads(const F& work) const {
    const std::stop_token token = stop();
    const auto on_device = [&] {
      const kernels::cuda::DeviceScope selected(gpu);
      const StopScope heard(token);
      return work();
    };
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      engine.admission.run(token, on_device);
    } else {
      std::optional<std::invoke_result_t<F>> value;
      engine.admission.run(token, [&] { value.emplace(on_device()); });
      return *std::move(value);
    }
  }
};

/// Calls f(context) for a query that begins, within its limits. Turns errors of the layers below into those of the
/// public API.
template <class F>
auto with_context(const EngineState& engine, const Query& query, const RunOptions& options, const F& f,
                  const KernelObserver& observer = {}) {
  return with_limits(query, options, engine.timer,
                     [&](Limits& limits) { return f(QueryContext(engine, limits, options, observer)); });
}

}  // namespace skyrank::exec
