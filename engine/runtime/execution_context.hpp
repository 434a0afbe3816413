#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

#include "kernels/common/memory.hpp"
#include "kernels/common/problem.hpp"
#include "planner/calibration_runs.hpp"
#include "planner/choose.hpp"

namespace skyrank::exec {

/// Hears of each kernel that has run, with all that prices it again; from several threads at once.
using KernelObserver = std::function<void(planner::CalibrationRun)>;

/// The context that operators need to run kernels, besides their input.
struct ExecutionContext {
  planner::Constraints constraints;
  planner::Machine machine;
  kernels::Context kernel_context;
  planner::Statistics preference = {};  ///< statistics of the first step
  planner::Statistics ranking = {};
  KernelObserver observer = {};                   ///< null: nobody listens
  std::optional<std::uint64_t> guard_steps = {};  ///< for tests: steps that every guard allows, whatever is predicted
};

/// Returns the machine with no more memory than the engine's limit leaves now.
inline planner::Machine with_memory_left(planner::Machine machine) {
  if (const kernels::MemoryAccount* const account = kernels::current_account()) {
    machine.host_bytes = std::min(machine.host_bytes, static_cast<double>(account->left()));
  }
  return machine;
}

}  // namespace skyrank::exec
