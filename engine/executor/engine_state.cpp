#include "engine/executor/engine_state.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/machine_memory.hpp"
#include "engine/plan/devices.hpp"
#include "engine/plan/forced_path.hpp"
#include "engine/query/bound.hpp"
#include "kernels/cuda/runtime/start.hpp"
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

}  // namespace

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

const planner::PriceList& EngineState::price_list() const { return prices ? *prices : planner::built_in_prices(); }

std::size_t EngineState::max_device_key_bytes() const {
  constexpr double kShare = 4;
  return options.shared_key_bytes == 0 ? 0 : static_cast<std::size_t>(gpu_bytes(gpu(0)) / kShare);
}

double EngineState::max_bytes() const { return static_cast<double>(std::min(machine_memory(), memory->limit())); }

}  // namespace skyrank::exec
