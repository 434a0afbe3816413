#include "engine/executor/engine_state.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/machine_memory.hpp"
#include "engine/plan/devices.hpp"
#include "engine/plan/forced_path.hpp"
#include "engine/plan/make_plan.hpp"
#include "engine/plan/paths.hpp"
#include "engine/query/bound.hpp"
#include "kernels/cuda/runtime/start.hpp"
#include "planner/cuda_start.hpp"
#include "planner/profile.hpp"

namespace skyrank::exec {
namespace {

/// The profile that the caller names, or else the user's own, which the engine can do without.
std::optional<planner::Profile> profile_of(const EngineOptions& options, std::vector<std::string>& warnings) {
  const std::optional<std::filesystem::path> file = options.profile ? options.profile : planner::profile_file();
  if (!file || file->empty()) return std::nullopt;
  std::error_code error;
  if (!std::filesystem::exists(*file, error)) {
    if (!options.profile) return std::nullopt;
    throw ResourceError("there is no such profile", {file->string()});
  }
  const std::vector<std::string> gpus = kernels::cuda::gpu_models();
  try {
    return planner::read_profile(*file, planner::cpu_name(), gpus.empty() ? "" : gpus.front());
  } catch (const planner::BadProfile& bad) {
    if (options.profile) throw ResourceError(bad.reason, {bad.source});
    warnings.push_back(std::string(ResourceError(bad.reason, {bad.source}).what()) + "; planning with built-in prices");
    return std::nullopt;
  }
}

/// The limit that was asked for, or else four fifths of what the process may use, so that others have room too.
std::size_t limit_of(const EngineOptions& options) {
  return options.memory_bytes > 0 ? options.memory_bytes : machine_memory() / 5 * 4;
}

/// Tables of fewer rows are answered before a GPU could be started.
constexpr std::int64_t kTrivialRows = 1 << 15;

}  // namespace

bool uses_gpu(PhysicalPlan plan) {
  try {
    choose_paths(plan);
  } catch (const planner::NoPath&) {
    return true;  // the driver is asked before the query is refused
  }
  const auto is_cuda = [](const Operator& op) { return op.path && op.path->device == kernels::Device::cuda; };
  return plan.on_device || std::ranges::any_of(plan.operators.skyline, is_cuda) ||
         (plan.operators.order && is_cuda(*plan.operators.order));
}

EngineState::EngineState(const EngineOptions& engine_options)
    : options(engine_options),
      gpus(engine_options.devices.empty() ? std::vector<int>{kernels::cuda::process_device()} : engine_options.devices),
      workers(options.threads),
      arena(workers.count()),
      may_use_gpu(exec::may_use_gpu(options.device)),
      rules(without({}, options.without)),
      memory(std::make_shared<kernels::MemoryAccount>(limit_of(options), [this] { key_cache.drop_all(); })) {
  if (auto profile = profile_of(options, warnings)) prices.emplace(std::move(*profile));
}

kernels::cuda::SelectedDevice EngineState::gpu() const {
  return kernels::cuda::has_selected_device() ? kernels::cuda::selected_device() : gpu(0);
}

kernels::cuda::SelectedDevice EngineState::gpu(std::size_t index) const {
  kernels::cuda::SelectedDevice device{.ordinal = gpus[index]};
  if (options.gpu_memory_bytes > 0) device.memory_limit = options.gpu_memory_bytes;
  // With several GPUs each has its share of the threads.
  device.copy_threads = std::max(1, arena.max_concurrency() / static_cast<int>(gpus.size()));
  return device;
}

double EngineState::gpu_bytes(const kernels::cuda::SelectedDevice& device) const {
  return std::min(device_bytes(device.ordinal), static_cast<double>(device.memory_limit));
}

PhysicalPlan EngineState::plan(const query::BoundQuery& query, const Table& table, const RunOptions& run,
                               double room) const {
  const kernels::cuda::DeviceScope on_device(gpu());
  const Rules allowed = rules_of(query);
  const DeviceChoice device = device_of(query);
  const int queries = 1 + std::max(0, run.later_queries);
  const double start = planner::cuda_start_seconds(kernels::cuda::started(), price_list());
  const auto plan_with = [&](bool with_cuda) {
    const planner::Constraints constraints{device_constraint(device, with_cuda),
                                           query.path.algorithms,
                                           {query.path.parameters.begin(), query.path.parameters.end()}};
    planner::Machine machine = this->machine(with_cuda);
    machine.cuda_start = start / queries;
    machine.host_bytes = std::min(machine.host_bytes, room);
    return make_plan(query, table, constraints, machine, allowed, options.share_columns ? queries : 0);
  };
  const bool trivial = table.num_rows() < kTrivialRows && query.path.algorithms.empty();
  const GpuUse gpu = gpu_use(device, allowed, [&] { return !trivial && uses_gpu(plan_with(true)); });
  PhysicalPlan made = plan_with(gpu == GpuUse::possible);
  made.operators.gather.note = device_note(device, gpu, start);
  note_device_choice(made.rules, device, gpu, start);
  return made;
}

GpuUse EngineState::gpu_use(DeviceChoice device, const Rules& allowed, const std::function<bool()>& pays) const {
  if (device == DeviceChoice::cuda) {
    require_cuda(gpus);
    return GpuUse::possible;
  }
  if (device == DeviceChoice::cpu || !allowed.has(Rule::device_choice)) return GpuUse::excluded;
  if (!may_use_gpu) return GpuUse::none;
  if (!has_asked_driver() && !pays()) return GpuUse::postponed;
  if (!has_usable_gpu()) return GpuUse::none;
  require_known(gpus);
  return GpuUse::possible;
}

Rules EngineState::rules_of(const query::BoundQuery& query) const {
  return without(rules, query.path.without, query.path_locations, query.location);
}

DeviceChoice EngineState::device_of(const query::BoundQuery& query) const {
  return query.path.device == DeviceChoice::automatic ? options.device : query.path.device;
}

bool EngineState::uses_gpu_now(DeviceChoice device) const {
  if (device == DeviceChoice::automatic) device = options.device;
  return device == DeviceChoice::cuda ||
         (device == DeviceChoice::automatic && may_use_gpu && has_asked_driver() && has_usable_gpu());
}

planner::Machine EngineState::machine(bool with_cuda) const {
  planner::Machine machine{.threads = arena.max_concurrency(),
                           .cuda = with_cuda,
                           .host_bytes = max_bytes(),
                           .prices = prices ? &*prices : nullptr};
  // Before the driver is asked, the memory is taken to be enough.
  if (with_cuda && has_asked_driver() && !gpu().may_fail) machine.device_bytes = gpu_bytes(gpu());
  return machine;
}

const planner::PriceList& EngineState::price_list() const { return prices ? *prices : planner::built_in_prices(); }

std::size_t EngineState::max_device_key_bytes() const {
  constexpr double kShare = 4;
  return options.shared_key_bytes == 0 ? 0 : static_cast<std::size_t>(gpu_bytes(gpu()) / kShare);
}

double EngineState::max_bytes() const {
  const kernels::MemoryAccount* const account = kernels::current_account();
  return static_cast<double>(std::min(machine_memory(), (account != nullptr ? account : memory.get())->limit()));
}

}  // namespace skyrank::exec
