#pragma once

#include <cuda_runtime.h>

#include <cstring>

// Copies from device memory to shared memory that a thread does not wait for, until it asks for them. Before capability
// 8.0 it does.
namespace skyrank::kernels::cuda {

/// 4, 8 or 16 bytes, aligned to as many. Only the thread itself may rely on wait_for_copies, others on a barrier after
/// it.
template <unsigned kBytes>
__device__ void copy_ahead(void* shared, const void* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(kBytes) : "memory");
  }
#else
  memcpy(shared, from, kBytes);
#endif
}

/// Ends a group of copies: those asked for since the last group.
__device__ inline void end_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits for all but the last `kBut` of what belongs together.
template <unsigned kBut>
__device__ void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kBut) : "memory");
#endif
}

}  // namespace skyrank::kernels::cuda
