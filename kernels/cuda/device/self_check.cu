#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/common/hash.hpp"
#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/stream.hpp"
#include "kernels/cuda/runtime/check.hpp"

namespace skyrank::kernels::cuda {
namespace {

constexpr std::uint32_t kValues = 1000;  // not a multiple of the block, so that the last block is cut

/// Mixes each index, so that a wrong bit anywhere shows.
__global__ void mix_indices(std::uint64_t* values, std::uint32_t count) {
  const std::uint32_t index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index < count) values[index] = mix(index);
}

struct FreeOnDevice {
  void operator()(std::uint64_t* data) const { (void)cudaFree(data); }
};

std::unique_ptr<std::uint64_t, FreeOnDevice> allocate(std::size_t count) {
  std::uint64_t* data = nullptr;
  SKYRANK_CUDA_CALL(cudaMalloc(&data, count * sizeof(std::uint64_t)));
  return std::unique_ptr<std::uint64_t, FreeOnDevice>(data);
}

}  // namespace

void self_check(int ordinal) {
  const CurrentDevice current(ordinal);
  const auto on_device = allocate(kValues);
  launch("mix_indices", mix_indices, {.blocks = (kValues + kMapThreads - 1) / kMapThreads, .threads = kMapThreads},
         nullptr, on_device.get(), kValues);
  std::vector<std::uint64_t> values(kValues);
  // Waits for the kernel, whose own errors it reports too.
  SKYRANK_CUDA_CALL(
      cudaMemcpy(values.data(), on_device.get(), kValues * sizeof(std::uint64_t), cudaMemcpyDeviceToHost));
  for (std::uint32_t i = 0; i < kValues; ++i) {
    if (values[i] != mix(i)) {
      throw Failure("self_check", "value " + std::to_string(i) + " from the device is not the host's", __FILE__,
                    __LINE__);
    }
  }
}

}  // namespace skyrank::kernels::cuda
