#include "kernels/cuda/device/context.hpp"

#include "kernels/cuda/start.hpp"

namespace skyrank::kernels::cuda {
namespace {

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  SKYRANK_CUDA_CALL(cudaDeviceGetAttribute(&value, which, ordinal));
  return value;
}

// One by one: cudaGetDeviceProperties asks for much else, slowly.
Properties properties_of(int ordinal) {
  std::size_t free = 0;
  std::size_t total = 0;
  SKYRANK_CUDA_CALL(cudaMemGetInfo(&free, &total));
  return {
      .multiprocessors = attribute(cudaDevAttrMultiProcessorCount, ordinal),
      .capability = 10 * attribute(cudaDevAttrComputeCapabilityMajor, ordinal) +
                    attribute(cudaDevAttrComputeCapabilityMinor, ordinal),
      .shared_bytes_per_block = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal)),
      .l2_bytes = static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize, ordinal)),
      .memory_bytes = total};
}

int ordinal_of_process() {
  int count = 0;
  SKYRANK_CUDA_CALL(cudaGetDeviceCount(&count));
  return count > 0 ? process_device() % count : 0;
}

/// Memory of a context that is never destroyed. Whoever looks for leaks would find it otherwise. The runtime, which was
/// there before it, goes after it; if the driver is gone, nothing is left to free.
struct FreedAtExit {
  unsigned* word;
  ~FreedAtExit() { (void)cudaFree(word); }
};

}  // namespace

ZeroWord::ZeroWord(cudaStream_t stream) {
  SKYRANK_CUDA_CALL(cudaMalloc(&word_, sizeof(unsigned)));
  SKYRANK_CUDA_CALL(cudaMemsetAsync(word_, 0, sizeof(unsigned), stream));
}

DeviceContext::DeviceContext(int ordinal, std::size_t memory_limit)
    : DeviceContext(CurrentDevice(ordinal), ordinal, std::make_unique<PoolResource>(ordinal, memory_limit), nullptr) {}

DeviceContext::DeviceContext(int ordinal, MemoryResource& memory)
    : DeviceContext(CurrentDevice(ordinal), ordinal, nullptr, &memory) {}

DeviceContext::DeviceContext(const CurrentDevice& /*current*/, int ordinal, std::unique_ptr<MemoryResource> owned,
                             MemoryResource* memory)
    : ordinal_(ordinal),
      properties_(properties_of(ordinal)),
      owned_(std::move(owned)),
      memory_(owned_ ? owned_.get() : memory),
      arrivals_(stream_.get()) {
  note_started(Started::context);
}

DeviceContext& DeviceContext::of_process() {
  static auto* const context = new DeviceContext(ordinal_of_process());
  static const FreedAtExit word{context->arrivals()};
  return *context;
}

}  // namespace skyrank::kernels::cuda
