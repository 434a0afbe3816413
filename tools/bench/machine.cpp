#include "tools/bench/machine.hpp"

#include <fmt/format.h>
#include <tbb/info.h>

#include "kernels/cuda/device/device.hpp"
#include "planner/profile.hpp"

namespace skyrank::bench {

std::string machine_name() {
  const int cores = tbb::info::default_concurrency();
  const std::string cpu = fmt::format("{} ({} {})", planner::cpu_name(), cores, cores == 1 ? "core" : "cores");
  const kernels::cuda::Devices gpus = kernels::cuda::find_devices();
  return gpus.devices.empty() ? cpu : fmt::format("{}, {}", cpu, gpus.devices.front().name);
}

}  // namespace skyrank::bench
