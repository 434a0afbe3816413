#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "tests/emulator/runtime.hpp"

namespace skyrank::emulator {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current = 0;

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver", "driver too old for the runtime"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice", "no kernel image for the device"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const ErrorText* find(cudaError_t error) {
  const auto* const found = std::ranges::find(kErrors, error, &ErrorText::error);
  return found == std::end(kErrors) ? nullptr : found;
}

constexpr cudaDeviceProp describe_device() {
  cudaDeviceProp device{};
  std::ranges::copy(std::string_view("CUDA emulation on the CPU"), device.name);
  device.totalGlobalMem = kDeviceMemory;
  device.sharedMemPerBlock = kSharedPerBlock;
  device.regsPerBlock = 65536;
  device.warpSize = 32;
  device.memPitch = 0x7fffffff;
  device.maxThreadsPerBlock = kThreadsPerBlock;
  std::ranges::copy(std::initializer_list<int>{1024, 1024, 64}, device.maxThreadsDim);
  std::ranges::copy(std::initializer_list<int>{0x7fffffff, 65535, 65535}, device.maxGridSize);
  device.totalConstMem = 64 << 10;
  device.major = 9;
  device.minor = 0;
  device.multiProcessorCount = kMultiprocessors;
  device.canMapHostMemory = 1;
  device.concurrentKernels = 1;
  device.asyncEngineCount = 1;
  device.unifiedAddressing = 1;
  device.memoryBusWidth = 64;
  device.l2CacheSize = 1 << 20;
  device.maxThreadsPerMultiProcessor = kThreadsPerMultiprocessor;
  device.streamPrioritiesSupported = 1;
  device.sharedMemPerMultiprocessor = kSharedPerMultiprocessor;
  device.regsPerMultiprocessor = 65536;
  device.maxBlocksPerMultiProcessor = kBlocksPerMultiprocessor;
  device.reservedSharedMemPerBlock = kSharedReservedPerBlock;
  device.hostRegisterSupported = 1;
  device.memoryPoolsSupported = 1;
  return device;
}

constexpr cudaDeviceProp kDevice = describe_device();

constexpr std::pair<cudaDeviceAttr, int> kAttributes[] = {
    {cudaDevAttrMaxThreadsPerBlock, kDevice.maxThreadsPerBlock},
    {cudaDevAttrMaxBlockDimX, kDevice.maxThreadsDim[0]},
    {cudaDevAttrMaxBlockDimY, kDevice.maxThreadsDim[1]},
    {cudaDevAttrMaxBlockDimZ, kDevice.maxThreadsDim[2]},
    {cudaDevAttrMaxGridDimX, kDevice.maxGridSize[0]},
    {cudaDevAttrMaxGridDimY, kDevice.maxGridSize[1]},
    {cudaDevAttrMaxGridDimZ, kDevice.maxGridSize[2]},
    {cudaDevAttrMaxSharedMemoryPerBlock, static_cast<int>(kDevice.sharedMemPerBlock)},
    {cudaDevAttrTotalConstantMemory, static_cast<int>(kDevice.totalConstMem)},
    {cudaDevAttrWarpSize, kDevice.warpSize},
    {cudaDevAttrMaxRegistersPerBlock, kDevice.regsPerBlock},
    {cudaDevAttrClockRate, 1'000'000},
    {cudaDevAttrMultiProcessorCount, kDevice.multiProcessorCount},
    {cudaDevAttrIntegrated, kDevice.integrated},
    {cudaDevAttrCanMapHostMemory, kDevice.canMapHostMemory},
    {cudaDevAttrConcurrentKernels, kDevice.concurrentKernels},
    {cudaDevAttrEccEnabled, kDevice.ECCEnabled},
    {cudaDevAttrMemoryClockRate, 1'000'000},
    {cudaDevAttrGlobalMemoryBusWidth, kDevice.memoryBusWidth},
    {cudaDevAttrL2CacheSize, kDevice.l2CacheSize},
    {cudaDevAttrMaxThreadsPerMultiProcessor, kDevice.maxThreadsPerMultiProcessor},
    {cudaDevAttrAsyncEngineCount, kDevice.asyncEngineCount},
    {cudaDevAttrUnifiedAddressing, kDevice.unifiedAddressing},
    {cudaDevAttrComputeCapabilityMajor, kDevice.major},
    {cudaDevAttrComputeCapabilityMinor, kDevice.minor},
    {cudaDevAttrStreamPrioritiesSupported, kDevice.streamPrioritiesSupported},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, static_cast<int>(kDevice.sharedMemPerMultiprocessor)},
    {cudaDevAttrMaxRegistersPerMultiprocessor, kDevice.regsPerMultiprocessor},
    {cudaDevAttrManagedMemory, kDevice.managedMemory},
    {cudaDevAttrCooperativeLaunch, kDevice.cooperativeLaunch},
    {cudaDevAttrHostRegisterSupported, kDevice.hostRegisterSupported},
    {cudaDevAttrMaxBlocksPerMultiprocessor, kDevice.maxBlocksPerMultiProcessor},
    {cudaDevAttrMaxPersistingL2CacheSize, kDevice.persistingL2CacheMaxSize},
    {cudaDevAttrReservedSharedMemoryPerBlock, static_cast<int>(kDevice.reservedSharedMemPerBlock)},
    {cudaDevAttrMemoryPoolsSupported, kDevice.memoryPoolsSupported},
    {cudaDevAttrClusterLaunch, kDevice.clusterLaunch},
};

}  // namespace

std::size_t shared_per_block_opt_in() {
  static const std::size_t bytes = [] {
    constexpr std::size_t kKiB = 1024;
    const char* const asked = std::getenv("SKYRANK_EMULATED_SHARED_KIB");
    return (asked == nullptr ? 227 : std::stoul(asked)) * kKiB;
  }();
  return bytes;
}

cudaError_t keep(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

int num_devices() {
  static const int count = [] {
    const char* const asked = std::getenv("SKYRANK_EMULATED_DEVICES");
    return asked == nullptr ? 1 : std::stoi(asked);
  }();
  return count;
}

bool is_device(int device) { return device >= 0 && device < num_devices(); }

int current_device() { return current; }

}  // namespace skyrank::emulator

using skyrank::emulator::is_device;
using skyrank::emulator::keep;

cudaError_t cudaGetLastError() { return std::exchange(skyrank::emulator::last_error, cudaSuccess); }

cudaError_t cudaPeekAtLastError() { return skyrank::emulator::last_error; }

const char* cudaGetErrorName(cudaError_t error) {
  const auto* const known = skyrank::emulator::find(error);
  return known == nullptr ? "unrecognized error code" : known->name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const auto* const known = skyrank::emulator::find(error);
  return known == nullptr ? "unrecognized error code" : known->text;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = skyrank::emulator::num_devices();
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = skyrank::emulator::current_device();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (!is_device(device)) return keep(cudaErrorInvalidDevice);
  skyrank::emulator::current = device;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can_access, int device, int peer) {
  if (!is_device(device) || !is_device(peer)) return keep(cudaErrorInvalidDevice);
  *can_access = device != peer ? 1 : 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!is_device(device)) return keep(cudaErrorInvalidDevice);
  *properties = skyrank::emulator::kDevice;
  properties->sharedMemPerBlockOptin = skyrank::emulator::shared_per_block_opt_in();
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  using skyrank::emulator::kAttributes;
  if (!is_device(device)) return keep(cudaErrorInvalidDevice);
  if (attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin) {
    *value = static_cast<int>(skyrank::emulator::shared_per_block_opt_in());
    return cudaSuccess;
  }
  const auto* const found = std::ranges::find(kAttributes, attribute, &std::pair<cudaDeviceAttr, int>::first);
  if (found == std::end(kAttributes)) return keep(cudaErrorInvalidValue);
  *value = found->second;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = skyrank::emulator::kLeastPriority;
  *greatest = skyrank::emulator::kGreatestPriority;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  skyrank::emulator::release_unused_memory();
  return cudaSuccess;
}
