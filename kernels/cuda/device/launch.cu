#include "kernels/cuda/device/launch.cuh"

#include <map>
#include <mutex>
#include <utility>

namespace skyrank::kernels::cuda {
namespace {

/// Shared memory that a kernel may have without being told so beforehand, static and dynamic.
constexpr std::size_t kUsualSharedBytes = 48 * 1024;
/// Static shared memory of a kernel that has dynamic one too, at most, so that the driver need not be asked about it
/// where there is little of the latter.
constexpr std::size_t kMaxStaticBytes = 32 * 1024;

/// Dynamic shared memory that kernels are known to be allowed on devices, as a small launch takes no longer than the
/// driver's answer.
struct Allowed {
  std::mutex mutex;
  std::map<std::pair<const void*, int>, std::size_t> bytes;
};

}  // namespace

void allow_shared(const void* kernel, std::size_t bytes) {
  if (bytes <= kUsualSharedBytes - kMaxStaticBytes) return;
  int device = 0;
  SKYRANK_CUDA_CALL(cudaGetDevice(&device));
  static auto& allowed = *new Allowed;  // threads may launch while the process ends
  const std::lock_guard lock(allowed.mutex);
  std::size_t& known = allowed.bytes[{kernel, device}];
  if (bytes <= known) return;
  cudaFuncAttributes attributes{};
  SKYRANK_CUDA_CALL(cudaFuncGetAttributes(&attributes, kernel));
  if (bytes + attributes.sharedSizeBytes > kUsualSharedBytes) {
    SKYRANK_CUDA_CALL(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  }
  known = bytes;
}

}  // namespace skyrank::kernels::cuda
