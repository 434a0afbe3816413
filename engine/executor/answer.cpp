#include "engine/executor/answer.hpp"

#include <utility>

#include "engine/executor/executor.hpp"
#include "engine/operators/execution.hpp"
#include "engine/plan/tree.hpp"
#include "engine/runtime/query_memory.hpp"
#include "engine/runtime/stopwatch.hpp"
#include "engine/stop.hpp"
#include "kernels/common/transfers.hpp"

namespace skyrank::exec {

Result answer(const QueryContext& context, const query::BoundQuery& query, const Table& table, double room) {
  context.limits.enter("planning");
  check(context.stop());
  const QueryMemory columns;
  kernels::TransferTally tally;
  const kernels::TallyScope tallied(&tally);
  Stopwatch total;
  Stopwatch watch;
  PhysicalPlan planned = plan_whole(context, query, table, room);
  Execution execution(std::move(planned), context.count_work, context.stop());
  execution.context.observer = context.observer;
  execution.enter = [&](const char* phase) { context.limits.enter(phase); };
  if (execution.plan.on_device) execution.device_state.emplace(execution.plan.sharing_queries > 0);
  share_keys(execution, table, execution.device_state ? context.engine.device_key_cache : context.engine.key_cache);
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
