#include "kernels/cuda/device/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "kernels/cuda/device/check.hpp"

namespace skyrank::kernels::cuda {

PoolResource::PoolResource(int ordinal, std::size_t limit) : limit_(limit) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = ordinal;
  SKYRANK_CUDA_CALL(cudaMemPoolCreate(&pool_, &properties));
  // Memory once taken stays: giving it back to the driver at each synchronisation would cost as much as the queries.
  std::uint64_t keep = std::numeric_limits<std::uint64_t>::max();
  SKYRANK_CUDA_CALL(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep));
}

PoolResource::~PoolResource() { (void)cudaMemPoolDestroy(pool_); }

void* PoolResource::allocate(std::size_t bytes, cudaStream_t stream) {
  {
    const std::lock_guard lock(mutex_);
    if (bytes > limit_ - in_use_) {
      throw OutOfMemory("PoolResource::allocate",
                        "the limit of " + std::to_string(limit_) + " bytes of device memory is reached: " +
                            std::to_string(in_use_) + " are in use, " + std::to_string(bytes) + " more are needed",
                        __FILE__, __LINE__);
    }
    in_use_ += bytes;
    peak_ = std::max(peak_, in_use_);
  }
  void* data = nullptr;
  const cudaError_t status = cudaMallocFromPoolAsync(&data, bytes, pool_, stream);
  if (status == cudaSuccess) return data;
  give_back(bytes);
  (void)cudaGetLastError();
  throw OutOfMemory("cudaMallocFromPoolAsync of " + std::to_string(bytes) + " bytes", cudaGetErrorString(status),
                    __FILE__, __LINE__);
}

void PoolResource::deallocate(void* data, std::size_t bytes, cudaStream_t stream) noexcept {
  (void)cudaFreeAsync(data, stream);
  give_back(bytes);
}

void PoolResource::give_back(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  in_use_ -= bytes;
}

std::size_t PoolResource::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

std::size_t PoolResource::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

void PoolResource::forget_peak() {
  const std::lock_guard lock(mutex_);
  peak_ = in_use_;
}

}  // namespace skyrank::kernels::cuda
