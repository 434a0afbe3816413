#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/runtime/check.hpp"
#include "kernels/cuda/runtime/start.hpp"

namespace skyrank::kernels::cuda {
namespace {

DeviceInfo describe(int ordinal) {
  cudaDeviceProp properties{};
  SKYRANK_CUDA_CALL(cudaGetDeviceProperties(&properties, ordinal));
  return {.ordinal = ordinal,
          .name = properties.name,
          .capability_major = properties.major,
          .capability_minor = properties.minor,
          .multiprocessors = properties.multiProcessorCount,
          .memory_bytes = properties.totalGlobalMem};
}

}  // namespace

Devices find_devices() {
  Devices found;
  try {
    SKYRANK_CUDA_CALL(cudaRuntimeGetVersion(&found.runtime_version));
    SKYRANK_CUDA_CALL(cudaDriverGetVersion(&found.driver_version));
    note_started(Started::driver);
    int count = 0;
    SKYRANK_CUDA_CALL(cudaGetDeviceCount(&count));
    for (int ordinal = 0; ordinal < count; ++ordinal) found.devices.push_back(describe(ordinal));
    if (count == 0) found.reason = "the driver lists no device";
  } catch (const Failure& failure) {
    found.devices.clear();
    // Without a driver the runtime complains of its version.
    found.reason = found.driver_version == 0 ? "no NVIDIA driver: " + failure.reason() : failure.reason();
  }
  return found;
}

}  // namespace skyrank::kernels::cuda
