#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include <skyrank/engine.hpp>
#include <skyrank/plan.hpp>

#include "engine/device/device_query_state.hpp"
#include "engine/keys/key_cache.hpp"
#include "engine/operators/kernel_path.hpp"
#include "engine/plan/physical_plan.hpp"
#include "engine/runtime/execution_context.hpp"
#include "engine/runtime/stopwatch.hpp"
#include "kernels/common/transfers.hpp"

// The state of a query that runs, and its clocks.
namespace skyrank::exec {

/// A query that runs: its plan, which is filled with measurements, and the clocks of the result.
struct Execution {
  PhysicalPlan plan;
  ExecutionContext context;
  Timing timing;
  Work work;
  std::optional<DeviceQueryState> device_state = std::nullopt;  ///< used if filters and keys are made on the device
  KeyShare share = {};                                          ///< keys over the rows that pass the condition
  std::string* phase = nullptr;                                 ///< says what the query is at, for a TimeoutError

  const query::BoundQuery& query() const { return plan.query; }
  DeviceQueryState* device() { return device_state ? &*device_state : nullptr; }
};

/// Returns what this thread's query has transferred so far.
kernels::TransferBytes transferred();

/// Runs one operator, adds its time to a stage and to its node, and its transfers to that; what it brought to a device
/// is booked as transfer.
template <class F>
auto timed(Execution& execution, double& stage_ms, PlanNode& node, const F& f) {
  *execution.phase = node.op;
  execution.context.kernel_context.check();
  const kernels::TransferBytes before = transferred();
  const double sent_before = execution.device_state ? execution.device_state->transfer_ms() : 0;
  Stopwatch watch;
  auto value = f();
  const double ms = watch.lap();
  const double sent = (execution.device_state ? execution.device_state->transfer_ms() : 0) - sent_before;
  execution.timing.transfer_ms += sent;
  stage_ms += ms - sent;
  node.measured_ms = ms;
  const kernels::TransferBytes after = transferred();
  const Transferred bytes{after.to_device - before.to_device, after.from_device - before.from_device};
  if (bytes != Transferred{}) node.transferred = bytes;
  return value;
}

/// Books what kernels did; where they ran side by side, `ms` is the share of the stage's time that is the node's.
void book(Execution& execution, PlanNode& node, const Report& report, double ms);

}  // namespace skyrank::exec
