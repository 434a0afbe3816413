#pragma once

#include <oneapi/tbb/task_arena.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/engine.hpp>

#include "engine/keys/key_cache.hpp"
#include "engine/plan/devices.hpp"
#include "engine/plan/rules.hpp"
#include "engine/query/bound.hpp"
#include "engine/runtime/admission.hpp"
#include "engine/runtime/timer.hpp"
#include "kernels/common/memory.hpp"
#include "kernels/cpu/threads.hpp"
#include "kernels/cuda/runtime/scope.hpp"
#include "planner/price_list.hpp"

namespace skyrank::exec {

/// The state that all queries of an engine share. Thread-safe.
struct EngineState {
  /// Throws as the constructor of Engine.
  explicit EngineState(const EngineOptions& engine_options);

  /// Returns the rules that a query may use.
  Rules rules_of(const query::BoundQuery& query) const;

  /// Returns the device of a query: its own choice, or else the engine's.
  DeviceChoice device_of(const query::BoundQuery& query) const;

  /// Returns true if planning for this device considers paths on a GPU for certain, without starting its driver.
  bool uses_gpu_now(DeviceChoice device) const;

  /// Returns one of the engine's GPUs, with its limits.
  kernels::cuda::SelectedDevice gpu(std::size_t index) const;

  /// Returns the bytes of memory that queries may use on a GPU that exists. Asks the driver.
  double gpu_bytes(const kernels::cuda::SelectedDevice& device) const;

  /// Returns the bytes that a query may take: the engine's limit, as far as the machine has them.
  double max_bytes() const;

  /// Returns the prices of the machine's profile, or else the built-in ones.
  const planner::PriceList& price_list() const;

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
  /// Returns the bytes of the GPU's memory for kept keys: a quarter, or 0 if the engine keeps none.
  std::size_t max_device_key_bytes() const;
};

}  // namespace skyrank::exec

namespace skyrank {

struct Engine::State : exec::EngineState {
  using EngineState::EngineState;
};

}  // namespace skyrank
