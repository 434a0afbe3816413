#pragma once

#include <cstddef>
#include <utility>

#include "cuda_runtime_api.h"

// The parts of the runtime that know a kernel's or a pointer's type.

namespace skyrank::emulator {

/// The work of one CUDA thread: `run(arguments)`.
struct ThreadFunction {
  void (*run)(const void* arguments) = nullptr;
  const void* arguments = nullptr;
};

/// Checks the configuration as the hardware would, then runs all threads of the grid.
cudaError_t launch(const void* kernel, const cudaLaunchConfig_t& config, ThreadFunction thread);

/// The address by which the runtime knows a kernel.
template <class... Parameters>
const void* identity(void (*kernel)(Parameters...)) {
  return reinterpret_cast<const void*>(kernel);
}

}  // namespace skyrank::emulator

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  return [&](Parameters... converted) {
    const auto thread = [&] { kernel(converted...); };
    using Thread = decltype(thread);
    return skyrank::emulator::launch(skyrank::emulator::identity(kernel), *config,
                                     {[](const void* self) { (*static_cast<Thread*>(self))(); }, &thread});
  }(std::forward<Arguments>(arguments)...);
}

template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(skyrank::emulator::identity(kernel), attribute, value);
}
template <class... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*kernel)(Parameters...)) {
  return cudaFuncGetAttributes(attributes, skyrank::emulator::identity(kernel));
}
template <class... Parameters>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*kernel)(Parameters...), int block_size,
                                                          std::size_t dynamic_shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, skyrank::emulator::identity(kernel), block_size,
                                                       dynamic_shared_bytes);
}

/// The block size, a multiple of a warp, that fills most threads of a multiprocessor; the larger of equals.
template <class... Parameters>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* min_grid_size, int* block_size, void (*kernel)(Parameters...),
                                               std::size_t dynamic_shared_bytes = 0, int block_size_limit = 0) {
  int most_threads = 0;
  int multiprocessors = 0;
  cudaError_t status = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  const int largest = block_size_limit > 0 && block_size_limit < 1024 ? block_size_limit : 1024;
  for (int size = largest / 32 * 32; status == cudaSuccess && size > 0; size -= 32) {
    int blocks = 0;
    status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, size, dynamic_shared_bytes);
    if (blocks * size <= most_threads) continue;
    most_threads = blocks * size;
    *block_size = size;
    *min_grid_size = blocks * multiprocessors;
  }
  return status;
}

template <class T>
cudaError_t cudaMalloc(T** pointer, std::size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, std::size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync(reinterpret_cast<void**>(pointer), bytes, stream);
}
template <class T>
cudaError_t cudaMallocFromPoolAsync(T** pointer, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return cudaMallocFromPoolAsync(reinterpret_cast<void**>(pointer), bytes, pool, stream);
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, std::size_t bytes, unsigned flags = 0) {
  return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <class T>
cudaError_t cudaHostAlloc(T** pointer, std::size_t bytes, unsigned flags) {
  return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags);
}
