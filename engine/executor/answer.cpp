#include "engine/executor/answer.hpp"

#include <stop_token>
#include <utility>

#include "engine/executor/executor.hpp"
#include "engine/operators/execution.hpp"
#include "engine/plan/tree.hpp"
#include "engine/runtime/query_memory.hpp"
#include "engine/runtime/stopwatch.hpp"
#include "engine/stop.hpp"
#include "kernels/common/transfers.hpp"
#include "kernels/cuda/runtime/scope.hpp"

namespace skyrank::exec {

Result answer(const EngineState& engine, const query::BoundQuery& query, const Table& table, const RunOptions& run,
              Limits& limits, double room) {
  limits.phase = "planning";
  const kernels::cuda::DeviceScope on_device(engine.gpu());
  const std::stop_token stop = limits.stop();
  const StopScope stops(stop);
  check(stop);
  const QueryMemory columns;
  kernels::TransferTally tally;
  const kernels::TallyScope tallied(&tally);
  Stopwatch total;
  Stopwatch watch;
  PhysicalPlan planned = engine.plan(query, table, run, room);
  Execution execution(std::move(planned), run.count_work, stop);
  execution.phase = &limits.phase;
  if (execution.plan.on_device) execution.device_state.emplace(execution.plan.sharing_queries > 0);
  share_keys(execution, table, execution.device_state ? engine.device_key_cache : engine.key_cache);
  execution.timing.bind_ms = watch.lap();
  Result result = execute(execution, table);
  note_sharing(execution);
  result.plan = tree(execution.plan, execution.record);
  result.work = execution.work;
  result.transferred = {tally.bytes().to_device, tally.bytes().from_device};
  result.timing = execution.timing;
  result.timing.total_ms = total.lap();
  return result;
}

}  // namespace skyrank::exec
