#include "engine/operators/execution.hpp"

namespace skyrank::exec {
namespace {

ExecutionContext context_of(const PhysicalPlan& plan, bool count_work, std::stop_token stop) {
  ExecutionContext context;
  context.constraints = plan.constraints;
  context.machine = plan.machine;
  context.kernel_context.count_work = count_work;
  context.kernel_context.stop = std::move(stop);
  context.preference = plan.sample.preference;
  context.ranking = plan.sample.ranking;
  context.preference.unsent = context.ranking.unsent = 0;  // when paths are chosen again, the columns are there
  return context;
}

}  // namespace

Execution::Execution(PhysicalPlan planned, bool count_work, std::stop_token stop)
    : plan(std::move(planned)), record(plan), context(context_of(plan, count_work, std::move(stop))) {}

kernels::TransferBytes transferred() {
  const kernels::TransferTally* const tally = kernels::current_tally();
  return tally != nullptr ? tally->bytes() : kernels::TransferBytes{};
}

namespace {

Work public_work(const kernels::Work& work) {
  return {work.dominance_tests, work.mask_tests, work.bytes_read, work.bytes_written, work.candidates};
}

}  // namespace

void book(Execution& execution, const Operator& op, const Report& report) {
  book(execution, op, report, *execution.record.of(op).ms);
}

void book(Execution& execution, const Operator& op, const Report& report, double ms) {
  OperatorMetrics& metrics = execution.record.of(op);
  metrics.rows = report.rows;
  metrics.ms = ms;
  // The stage's time was booked as one of computing.
  const double transfer_ms = std::min(report.transfer_ms, ms);
  execution.timing.transfer_ms += transfer_ms;
  execution.timing.compute_ms -= transfer_ms;
  if (!execution.context.kernel_context.count_work) return;
  metrics.work = public_work(report.work);
  execution.work += *metrics.work;
}

}  // namespace skyrank::exec
