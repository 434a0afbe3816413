#include <algorithm>
#include <map>
#include <mutex>
#include <span>

#include "tests/emulator/runtime.hpp"
#include "tests/emulator/scheduler.hpp"

namespace skyrank::emulator {
namespace {

struct KernelSettings {
  std::size_t max_dynamic_shared_bytes = kSharedPerBlock;
  int carveout = cudaSharedmemCarveoutDefault;
};

std::mutex settings_mutex;
std::map<const void*, KernelSettings> all_settings;

KernelSettings settings_of(const void* kernel) {
  const std::lock_guard lock(settings_mutex);
  return all_settings[kernel];
}

bool fits(dim3 block) {
  return block.x >= 1 && block.y >= 1 && block.z >= 1 && block.x <= 1024 && block.y <= 1024 && block.z <= 64 &&
         std::size_t{block.x} * block.y * block.z <= kThreadsPerBlock;
}

bool fits_grid(dim3 grid) {
  return grid.x >= 1 && grid.y >= 1 && grid.z >= 1 && grid.x <= 0x7fffffff && grid.y <= 65535 && grid.z <= 65535;
}

/// Blocks that must run at the same time are beyond this emulation.
bool asks_for_company(const cudaLaunchAttribute& attribute) {
  if (attribute.id == cudaLaunchAttributeCooperative) return attribute.val.cooperative != 0;
  const auto& cluster = attribute.val.clusterDim;
  return attribute.id == cudaLaunchAttributeClusterDimension && std::max({cluster.x, cluster.y, cluster.z}) > 1;
}

cudaError_t check(const void* kernel, const cudaLaunchConfig_t& config) {
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  if (!is_stream(config.stream) || device_of(config.stream) != current_device()) return cudaErrorInvalidResourceHandle;
  if (!fits(config.blockDim) || !fits_grid(config.gridDim)) return cudaErrorInvalidConfiguration;
  if (config.dynamicSmemBytes > settings_of(kernel).max_dynamic_shared_bytes) return cudaErrorInvalidValue;
  const std::span attributes(config.attrs, config.numAttrs);
  return std::ranges::any_of(attributes, asks_for_company) ? cudaErrorNotSupported : cudaSuccess;
}

}  // namespace

cudaError_t launch(const void* kernel, const cudaLaunchConfig_t& config, ThreadFunction thread) {
  const cudaError_t status = check(kernel, config);
  if (status == cudaSuccess) run_grid(config.gridDim, config.blockDim, config.dynamicSmemBytes, thread);
  return keep(status);
}

}  // namespace skyrank::emulator

using skyrank::emulator::all_settings;
using skyrank::emulator::keep;
using skyrank::emulator::KernelSettings;
using skyrank::emulator::kThreadsPerBlock;
using skyrank::emulator::settings_mutex;
using skyrank::emulator::settings_of;
using skyrank::emulator::shared_per_block_opt_in;

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (kernel == nullptr) return keep(cudaErrorInvalidDeviceFunction);
  const std::lock_guard lock(settings_mutex);
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize && value >= 0 &&
      static_cast<std::size_t>(value) <= shared_per_block_opt_in()) {
    all_settings[kernel].max_dynamic_shared_bytes = static_cast<std::size_t>(value);
    return cudaSuccess;
  }
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout && value >= cudaSharedmemCarveoutDefault &&
      value <= cudaSharedmemCarveoutMaxShared) {
    all_settings[kernel].carveout = value;
    return cudaSuccess;
  }
  return keep(cudaErrorInvalidValue);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  if (kernel == nullptr) return keep(cudaErrorInvalidDeviceFunction);
  const KernelSettings settings = settings_of(kernel);
  *attributes = {};
  attributes->maxThreadsPerBlock = kThreadsPerBlock;
  attributes->numRegs = 32;
  attributes->ptxVersion = 90;
  attributes->binaryVersion = 90;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(settings.max_dynamic_shared_bytes);
  attributes->preferredShmemCarveout = settings.carveout;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int block_size,
                                                          std::size_t dynamic_shared_bytes) {
  using skyrank::emulator::kBlocksPerMultiprocessor;
  using skyrank::emulator::kSharedPerMultiprocessor;
  using skyrank::emulator::kSharedReservedPerBlock;
  using skyrank::emulator::kThreadsPerMultiprocessor;
  if (kernel == nullptr) return keep(cudaErrorInvalidDeviceFunction);
  if (block_size <= 0) return keep(cudaErrorInvalidValue);
  *blocks = 0;
  if (block_size > kThreadsPerBlock || dynamic_shared_bytes > settings_of(kernel).max_dynamic_shared_bytes) {
    return cudaSuccess;
  }
  const int by_threads = kThreadsPerMultiprocessor / ((block_size + 31) / 32 * 32);
  const auto by_shared = static_cast<int>(kSharedPerMultiprocessor / (dynamic_shared_bytes + kSharedReservedPerBlock));
  *blocks = std::min({kBlocksPerMultiprocessor, by_threads, by_shared});
  return cudaSuccess;
}
