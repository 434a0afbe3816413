#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <skyrank/engine.hpp>
#include <skyrank/plan.hpp>

#include "engine/device/device_query_state.hpp"
#include "engine/keys/key_cache.hpp"
#include "engine/plan/kernel_path.hpp"
#include "engine/plan/operators.hpp"
#include "engine/plan/physical_plan.hpp"
#include "engine/plan/run_record.hpp"
#include "engine/runtime/execution_context.hpp"
#include "engine/runtime/stopwatch.hpp"
#include "kernels/common/transfers.hpp"

// The state of a query that runs, and its clocks.
namespace skyrank::exec {

/// Returns what this thread's query has transferred so far.
kernels::TransferBytes transferred();

/// A query that runs: its plan, what the run records of it, and the clocks of the result.
struct Execution {
  /// The run ends soon after `stop` asks for it.
  Execution(PhysicalPlan planned, bool count_work, std::stop_token stop);

  const PhysicalPlan plan;
  RunRecord record;
  ExecutionContext context;
  Timing timing;
  Work work;
  std::optional<DeviceQueryState> device_state = std::nullopt;  ///< used if filters and keys are made on the device
  KeyShare share = {};                                          ///< keys over the rows that pass the condition
  std::function<void(const char*)> enter = [](const char*) {};  ///< hears of each operator that begins

  const query::BoundQuery& query() const { return plan.query; }
  DeviceQueryState* device() { return device_state ? &*device_state : nullptr; }

  /// Runs one operator and records its time, which also counts for its stage, and its transfers; the time of copies to
  /// a device counts as transfer.
  template <class F>
  auto timed(const Operator& op, const F& f) {
    begin(op);
    const kernels::TransferBytes before = transferred();
    const double sent_before = sent_ms();
    Stopwatch watch;
    auto value = f();
    end(op, watch.lap(), sent_ms() - sent_before, before);
    return value;
  }

  /// Records what the kernels of an operator did in the time that `timed` measured.
  void book(const Operator& op, const Report& report) { book(op, report, *record.of(op).ms); }

  /// Records what kernels did that ran in one stage with others; `ms` is the operator's share of the stage's time.
  void book(const Operator& op, const Report& report, double ms);

 private:
  double sent_ms() const { return device_state ? device_state->transfer_ms() : 0; }
  void begin(const Operator& op) const;
  void end(const Operator& op, double ms, double sent_ms, const kernels::TransferBytes& before);
};

}  // namespace skyrank::exec
