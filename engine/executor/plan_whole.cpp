#include "engine/executor/plan_whole.hpp"

#include <algorithm>
#include <optional>

#include "engine/plan/devices.hpp"
#include "engine/plan/rules/make_plan.hpp"
#include "kernels/cuda/runtime/start.hpp"
#include "planner/cuda_start.hpp"

namespace skyrank::exec {
namespace {

/// Tables of fewer rows are answered before a GPU could be started.
constexpr std::int64_t kTrivialRows = 1 << 15;

/// Plans one query for machines with and without a GPU.
class WholePlanner {
 public:
  WholePlanner(const QueryContext& context, const query::BoundQuery& query, const Table& table, double room)
      : context_(context),
        engine_(context.engine),
        query_(query),
        table_(table),
        room_(room),
        rules_(engine_.rules_of(query)),
        device_(engine_.device_of(query)),
        start_(planner::cuda_start_seconds(kernels::cuda::started(), engine_.price_list())) {}

  PhysicalPlan plan() const {
    const std::optional<GpuUse> known = gpu_use();
    PhysicalPlan made = plan_with(!known || known == GpuUse::possible);
    const GpuUse gpu = known ? *known : decide(made);
    made.operators.gather.note = device_note(device_, gpu, start_);
    note_device_choice(made.rules, device_, gpu, start_);
    made.origin = context_.origin;
    return made;
  }

 private:
  /// Returns the role of a GPU; nothing where the driver has not been started, and a plan has to show that this pays.
  std::optional<GpuUse> gpu_use() const {
    if (device_ == DeviceChoice::cuda) {
      require_cuda(engine_.gpus);
      return GpuUse::possible;
    }
    if (device_ == DeviceChoice::cpu || !rules_.has(Rule::device_choice)) return GpuUse::excluded;
    if (!engine_.may_use_gpu) return GpuUse::none;
    if (has_asked_driver()) return gpu_found();
    const bool trivial = table_.num_rows() < kTrivialRows && query_.path.algorithms.empty();
    return trivial ? std::optional(GpuUse::postponed) : std::nullopt;
  }

  /// Asks the driver.
  GpuUse gpu_found() const {
    if (!has_usable_gpu()) return GpuUse::none;
    require_known(engine_.gpus);
    return GpuUse::possible;
  }

  /// Decides by a plan for a GPU that the driver has not been asked for: a plan that does not use it stays on the host.
  /// Any other is made again, since now the memory of the GPU is known, or that there is none.
  GpuUse decide(PhysicalPlan& made) const {
    if (!uses_gpu(made)) {
      made.machine.cuda = false;
      made.constraints.device = kernels::Device::cpu;
      return GpuUse::postponed;
    }
    const GpuUse gpu = gpu_found();
    made = plan_with(gpu == GpuUse::possible);
    return gpu;
  }

  PhysicalPlan plan_with(bool with_cuda) const {
    const int queries = 1 + std::max(0, context_.later_queries);
    const planner::Constraints constraints{device_constraint(device_, with_cuda),
                                           query_.path.algorithms,
                                           {query_.path.parameters.begin(), query_.path.parameters.end()},
                                           context_.lists_candidates};
    planner::Machine machine = this->machine(with_cuda);
    machine.cuda_start = start_ / queries;
    machine.host_bytes = std::min(machine.host_bytes, room_);
    return make_plan(query_, table_, constraints, machine, rules_, engine_.options.share_columns ? queries : 0);
  }

  planner::Machine machine(bool with_cuda) const {
    planner::Machine machine{.threads = engine_.arena.max_concurrency(),
                             .cuda = with_cuda,
                             .host_bytes = engine_.max_bytes(),
                             .prices = engine_.prices ? &*engine_.prices : nullptr};
    // Before the driver is asked, the memory is taken to be enough.
    if (with_cuda && has_asked_driver() && !context_.gpu.may_fail) {
      machine.device_bytes = engine_.gpu_bytes(context_.gpu);
    }
    return machine;
  }

  const QueryContext& context_;
  const EngineState& engine_;
  const query::BoundQuery& query_;
  const Table& table_;
  const double room_;
  const Rules rules_;
  const DeviceChoice device_;
  const double start_;  // seconds until a GPU could begin
};

}  // namespace

PhysicalPlan plan_whole(const QueryContext& context, const query::BoundQuery& query, const Table& table, double room) {
  const kernels::cuda::DeviceScope on_device(context.gpu);
  return WholePlanner(context, query, table, room).plan();
}

bool uses_gpu(PhysicalPlan plan) {
  try {
    choose_paths(plan);
  } catch (const planner::NoPath&) {
    return true;  // the driver is asked before the query is refused
  }
  const auto is_cuda = [](const Operator& op) { return op.path && op.path->device == kernels::Device::cuda; };
  return plan.on_device || plan.counts_on_device || plan.device_groups || plan.device_partitions ||
         plan.rows_on_device || std::ranges::any_of(plan.operators.skyline, is_cuda) ||
         (plan.operators.order && is_cuda(*plan.operators.order));
}

}  // namespace skyrank::exec
