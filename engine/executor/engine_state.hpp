#pragma once

#include <oneapi/tbb/task_arena.h>

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <skyrank/engine.hpp>

#include "engine/keys/key_cache.hpp"
#include "engine/plan/devices.hpp"
#include "engine/plan/physical_plan.hpp"
#include "engine/plan/rules.hpp"
#include "engine/query/bound.hpp"
#include "engine/runtime/admission.hpp"
#include "engine/runtime/timer.hpp"
#include "engine/stop.hpp"
#include "kernels/common/memory.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cuda/runtime/scope.hpp"
#include "planner/price_list.hpp"

namespace skyrank::exec {

/// Returns true if the kernels of a plan are to run on a GPU, some of them at least.
bool uses_gpu(PhysicalPlan plan);

/// Says that paths are chosen by the limit of memory alone.
inline constexpr double kAllMemory = std::numeric_limits<double>::infinity();

/// The state that all queries of an engine share. Thread-safe.
struct EngineState {
  /// Throws as the constructor of Engine.
  explicit EngineState(const EngineOptions& engine_options);

  /// Plans a query, for `explain` and for `run` alike; the kernels still have to get their paths. Paths are chosen as
  /// if no more than `room` bytes of memory were left.
  PhysicalPlan plan(const query::BoundQuery& query, const Table& table, const RunOptions& run = {},
                    double room = kAllMemory) const;

  /// Does work on the engine's threads and on the GPU that work of this thread goes to, and returns what it returns.
  /// Throws what it throws, and kernels::Cancelled where the stop comes before it begins.
  template <class F>
  auto on_threads(const std::stop_token& stop, const F& work) const {
    const auto on_device = [&, device = gpu()] {
      const kernels::cuda::DeviceScope selected(device);
      const StopScope heard(stop);
      return work();
    };
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      admission.run(stop, on_device);
    } else {
      std::optional<std::invoke_result_t<F>> value;
      admission.run(stop, [&] { value.emplace(on_device()); });
      return *std::move(value);
    }
  }

  /// Returns the rules that a query may use.
  Rules rules_of(const query::BoundQuery& query) const;

  /// Returns the device of a query: its own choice, or else the engine's.
  DeviceChoice device_of(const query::BoundQuery& query) const;

  /// Returns true if planning for this device considers paths on a GPU for certain, without starting its driver.
  bool uses_gpu_now(DeviceChoice device) const;

  /// Returns the GPU that work of this thread goes to: the one that it has selected, or else the engine's first.
  kernels::cuda::SelectedDevice gpu() const;

  /// Returns one of the engine's GPUs, with its limits.
  kernels::cuda::SelectedDevice gpu(std::size_t index) const;

  /// Returns the bytes of memory that queries may use on a GPU that exists. Asks the driver.
  double gpu_bytes(const kernels::cuda::SelectedDevice& device) const;

  /// Returns the bytes that a query may take: the limit of its thread's account, or else the engine's.
  double max_bytes() const;

  EngineOptions options;
  const std::vector<int> gpus;  ///< by their numbers in the CUDA runtime; at least one
  std::vector<std::string> warnings;
  kernels::WorkerThreads workers;
  mutable tbb::task_arena arena;  // execute() may be called from several threads at once
  mutable Admission admission{arena};
  mutable Timer timer;
  const bool may_use_gpu;
  std::optional<planner::PriceList> prices;  ///< none: those of the built-in profile
  Rules rules;
  std::shared_ptr<kernels::MemoryAccount> memory;  // outlives what is counted on it
  mutable KeyCache key_cache{options.shared_key_bytes};
  mutable KeyCache device_key_cache{[this] { return max_device_key_bytes(); }};

 private:
  /// Returns the role of a GPU in planning a query. Calls `pays` only while the driver has not been started.
  GpuUse gpu_use(DeviceChoice device, const Rules& allowed, const std::function<bool()>& pays) const;
  planner::Machine machine(bool with_cuda) const;
  const planner::PriceList& price_list() const;

  /// Returns the bytes of the GPU's memory for kept keys: a quarter, or 0 if the engine keeps none.
  std::size_t max_device_key_bytes() const;
};

}  // namespace skyrank::exec

namespace skyrank {

struct Engine::State : exec::EngineState {
  using EngineState::EngineState;
};

}  // namespace skyrank
