#include "engine/executor/engine_state.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/plan/devices.hpp"
#include "engine/plan/forced_path.hpp"
#include "engine/plan/make_plan.hpp"
#include "engine/query/bound.hpp"
#include "kernels/cuda/device/device.hpp"
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
  const kernels::cuda::Devices gpus = kernels::cuda::find_devices();
  try {
    return planner::read_profile(*file, planner::cpu_name(), gpus.devices.empty() ? "" : gpus.devices.front().name);
  } catch (const planner::BadProfile& bad) {
    if (options.profile) throw ResourceError(bad.reason, {bad.source});
    warnings.push_back(std::string(ResourceError(bad.reason, {bad.source}).what()) + "; planning with built-in prices");
    return std::nullopt;
  }
}

}  // namespace

EngineState::EngineState(const EngineOptions& engine_options)
    : options(engine_options),
      workers(options.threads),
      arena(workers.count()),
      cuda(cuda_takes_part(options.device)),
      rules(without({}, options.without)) {
  if (auto profile = profile_of(options, warnings)) prices.emplace(std::move(*profile));
  if (options.memory_bytes == 0) return;
  memory = std::make_shared<kernels::MemoryAccount>(options.memory_bytes, [this] { key_cache.drop_all(); });
}

PhysicalPlan EngineState::plan(const Query& query, const Table& table, const RunOptions& run) const {
  query::refuse_unsupported(query, table.unsupported());
  query::BoundQuery bound = query::bind(query, query::schema_of(table));
  check_forced(query);
  const Rules allowed = without(rules, bound.path.without, bound.path.locations, query.location());
  const DeviceChoice device = bound.path.device == DeviceChoice::automatic ? options.device : bound.path.device;
  if (bound.path.device == DeviceChoice::cuda) require_cuda();
  const bool with_cuda =
      cuda && device != DeviceChoice::cpu && (device == DeviceChoice::cuda || allowed.has(Rule::device_choice));
  const planner::Constraints constraints{device_constraint(device, with_cuda),
                                         bound.path.algorithms,
                                         {bound.path.parameters.begin(), bound.path.parameters.end()}};
  const planner::Machine machine{.threads = arena.max_concurrency(),
                                 .cuda = with_cuda,
                                 .host_bytes = max_bytes(),
                                 .host_limited = memory != nullptr,
                                 .device_bytes = with_cuda ? device_bytes() : 0,
                                 .prices = prices ? &*prices : nullptr};
  const int sharers = options.share_columns ? 1 + std::max(0, run.later_queries) : 0;
  PhysicalPlan made = make_plan(std::move(bound), table, query.from(), constraints, machine, allowed, sharers);
  made.operators.gather.note = device_note(device, cuda);
  note_device_choice(made.rules, device, cuda);
  return made;
}

std::size_t EngineState::max_device_key_bytes() const {
  constexpr double kShare = 4;
  if (!cuda || options.shared_key_bytes == 0) return 0;
  return static_cast<std::size_t>(device_bytes() / kShare);
}

double EngineState::max_bytes() const {
  if (memory == nullptr) return host_bytes();
  const kernels::MemoryAccount* const account = kernels::current_account();
  return std::min(host_bytes(), static_cast<double>((account != nullptr ? account : memory.get())->limit()));
}

}  // namespace skyrank::exec
