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

/// Returns the clock of the stage that a kind of operator belongs to.
double Timing::*clock_of(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::scan:
    case OperatorKind::filter:
    case OperatorKind::group:
    case OperatorKind::missing:
    case OperatorKind::partition: return &Timing::filter_ms;
    case OperatorKind::skyline_keys:
    case OperatorKind::rank_keys: return &Timing::keys_ms;
    case OperatorKind::gather: return &Timing::gather_ms;
    default: return &Timing::compute_ms;
  }
}

Work public_work(const kernels::Work& work) {
  return {work.dominance_tests, work.mask_tests, work.bytes_read, work.bytes_written, work.candidates};
}

}  // namespace

void Execution::begin(const Operator& op) const {
  enter(name_of(op.kind).data());
  context.kernel_context.check();
}

void Execution::end(const Operator& op, double ms, double sent_ms, const kernels::TransferBytes& before) {
  timing.transfer_ms += sent_ms;
  timing.*clock_of(op.kind) += ms - sent_ms;
  OperatorMetrics& metrics = record.of(op);
  metrics.ms = ms;
  const kernels::TransferBytes after = transferred();
  const Transferred bytes{after.to_device - before.to_device, after.from_device - before.from_device};
  if (bytes != Transferred{}) metrics.transferred = bytes;
}

void Execution::book(const Operator& op, const Report& report, double ms) {
  OperatorMetrics& metrics = record.of(op);
  metrics.rows = report.rows;
  metrics.ms = ms;
  // The stage's time was booked as one of computing.
  const double transfer_ms = std::min(report.transfer_ms, ms);
  timing.transfer_ms += transfer_ms;
  timing.compute_ms -= transfer_ms;
  if (!context.kernel_context.count_work) return;
  metrics.work = public_work(report.work);
  work += *metrics.work;
}

}  // namespace skyrank::exec
