#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>

#include "kernels/cuda/runtime/check.hpp"

namespace skyrank::kernels::cuda {

/// The shape of a one-dimensional launch.
struct Grid {
  std::size_t blocks = 1;
  unsigned threads = 256;
  std::size_t shared_bytes = 0;  ///< dynamic shared memory of a block
  /// Blocks may be placed while what is before them in the stream still runs. The kernel calls wait_for_previous first.
  /// Only where Properties::overlaps_launches says so.
  bool overlaps = false;
};

/// Makes a kernel that overlaps wait until all work before it in the stream has ended, and see what that wrote.
__device__ inline void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Once all blocks have called it or ended, the next kernel's blocks may be placed, if that one overlaps.
__device__ inline void let_next_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Blocks of `each` elements for n of them, at least one.
constexpr std::size_t blocks_for(std::size_t n, std::size_t each) {
  return std::max<std::size_t>(1, (n + each - 1) / each);
}

/// Threads of a block of which each takes an element of its own.
inline constexpr unsigned kMapThreads = 256;

/// A thread for each of n elements.
inline Grid one_each(std::size_t n) { return {.blocks = blocks_for(n, kMapThreads), .threads = kMapThreads}; }

/// Shared memory that a kernel may have without being told so beforehand, static and dynamic.
inline constexpr std::size_t kUsualSharedBytes = 48 * 1024;
/// Static shared memory of a kernel that has dynamic one too, at most, so that the driver need not be asked about it
/// where there is little of the latter.
inline constexpr std::size_t kMaxStaticBytes = 32 * 1024;

/// Lets a kernel have `bytes` of dynamic shared memory.
template <class... Parameters>
void allow_shared(void (*kernel)(Parameters...), std::size_t bytes) {
  if (bytes <= kUsualSharedBytes - kMaxStaticBytes) return;
  const auto* const function = reinterpret_cast<const void*>(kernel);
  cudaFuncAttributes attributes{};
  SKYRANK_CUDA_CALL(cudaFuncGetAttributes(&attributes, function));
  if (bytes + attributes.sharedSizeBytes <= kUsualSharedBytes) return;
  SKYRANK_CUDA_CALL(
      cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

/// Starts a kernel. Throws Failure, with `name`, when it could not be started; what fails later is told by whoever
/// waits for the stream.
template <class... Parameters>
void launch(const char* name, void (*kernel)(Parameters...), const Grid& grid, cudaStream_t stream,
            std::type_identity_t<Parameters>... arguments) {
  allow_shared(kernel, grid.shared_bytes);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(grid.blocks));
  config.blockDim = dim3(grid.threads);
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute overlaps{};
  overlaps.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlaps.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &overlaps;
  config.numAttrs = grid.overlaps ? 1 : 0;
  const cudaError_t status = cudaLaunchKernelEx(&config, kernel, arguments...);
  check(status, name, __FILE__, __LINE__);
}

/// Blocks of a kernel that one multiprocessor holds at a time, at least one.
template <class... Parameters>
std::size_t resident_blocks(void (*kernel)(Parameters...), unsigned threads, std::size_t shared_bytes = 0) {
  allow_shared(kernel, shared_bytes);
  int blocks = 0;
  SKYRANK_CUDA_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reinterpret_cast<const void*>(kernel),
                                                                  static_cast<int>(threads), shared_bytes));
  return static_cast<std::size_t>(std::max(1, blocks));
}

}  // namespace skyrank::kernels::cuda
