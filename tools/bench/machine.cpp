#include "tools/bench/machine.hpp"

#include <fmt/format.h>
#include <tbb/info.h>

#include <fstream>
#include <string_view>

#include "kernels/cuda/device/device.hpp"

namespace skyrank::bench {
namespace {

/// Linux: of the first core; the architecture's name is all that some systems tell.
std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "AArch64";
#else
  return "unknown CPU";
#endif
}

}  // namespace

std::string machine_name() {
  const int cores = tbb::info::default_concurrency();
  const std::string cpu = fmt::format("{} ({} {})", cpu_model(), cores, cores == 1 ? "core" : "cores");
  const kernels::cuda::Devices gpus = kernels::cuda::find_devices();
  return gpus.devices.empty() ? cpu : fmt::format("{}, {}", cpu, gpus.devices.front().name);
}

}  // namespace skyrank::bench
