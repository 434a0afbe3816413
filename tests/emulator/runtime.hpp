#pragma once

#include <cstddef>

#include "cuda_runtime_api.h"

// Declarations that the parts of the emulated runtime share.
namespace skyrank::emulator {

/// The emulated GPUs: small ones with the limits of compute capability 9.0.
inline constexpr int kMultiprocessors = 4;
inline constexpr int kThreadsPerBlock = 1024;
inline constexpr int kThreadsPerMultiprocessor = 2048;
inline constexpr int kBlocksPerMultiprocessor = 32;
inline constexpr std::size_t kDeviceMemory = std::size_t{2} << 30;
inline constexpr std::size_t kSharedPerMultiprocessor = 228 << 10;
inline constexpr std::size_t kSharedPerBlock = 48 << 10;  ///< without asking for more
/// With asking: 227 KiB, or as many as the variable SKYRANK_EMULATED_SHARED_KIB of the environment says.
std::size_t shared_per_block_opt_in();
inline constexpr std::size_t kSharedReservedPerBlock = 1 << 10;
inline constexpr int kLeastPriority = 0;
inline constexpr int kGreatestPriority = -5;

/// Returns `error`, and keeps it for the calling thread's next cudaGetLastError unless it is success.
cudaError_t keep(cudaError_t error);

/// Number of GPUs: one, or as many as the variable SKYRANK_EMULATED_DEVICES of the environment says.
int num_devices();
bool is_device(int device);
/// Returns the calling thread's device.
int current_device();
/// One that was made and not destroyed, or one of those that always are.
bool is_stream(cudaStream_t stream);
/// Returns the device that a stream belongs to: one that always is, to the calling thread's.
int device_of(cudaStream_t stream);

/// Pools give back what they hold beyond their threshold, as they do when a stream is waited for.
void release_unused_memory();

std::size_t live_streams();
std::size_t live_events();

}  // namespace skyrank::emulator
