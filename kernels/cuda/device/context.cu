#include "kernels/cuda/device/context.hpp"

#include <map>

#include "kernels/cuda/runtime/scope.hpp"
#include "kernels/cuda/runtime/start.hpp"

namespace skyrank::kernels::cuda {
namespace {

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  SKYRANK_CUDA_CALL(cudaDeviceGetAttribute(&value, which, ordinal));
  return value;
}

// One by one: cudaGetDeviceProperties asks for much else, slowly.
Properties ask_for_properties(int ordinal) {
  const CurrentDevice current(ordinal);
  std::size_t free = 0;
  std::size_t total = 0;
  SKYRANK_CUDA_CALL(cudaMemGetInfo(&free, &total));
  return {
      .multiprocessors = static_cast<std::size_t>(attribute(cudaDevAttrMultiProcessorCount, ordinal)),
      .overlaps_launches = attribute(cudaDevAttrComputeCapabilityMajor, ordinal) >= 9,
      .shared_bytes_per_block = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal)),
      .l2_bytes = static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize, ordinal)),
      .memory_bytes = total};
}

/// The process's contexts by device; they are never destroyed.
struct ContextsOfProcess {
  std::mutex mutex;
  std::map<int, DeviceContext*> by_ordinal;
};

/// Frees the memory of contexts that are never destroyed. Whoever looks for leaks would find it otherwise. The runtime,
/// which was there before it, goes after it; if the driver is gone, nothing is left to free.
struct FreedAtExit {
  ContextsOfProcess& contexts;
  ~FreedAtExit() {
    for (const auto& [ordinal, context] : contexts.by_ordinal) (void)cudaFree(context->arrivals());
  }
};

}  // namespace

const Properties& properties_of(int ordinal) {
  struct Known {
    std::mutex mutex;
    std::map<int, Properties> by_ordinal;
  };
  static auto& known = *new Known;  // references outlive whatever the process destroys at its end
  const std::lock_guard lock(known.mutex);
  const auto found = known.by_ordinal.find(ordinal);
  if (found != known.by_ordinal.end()) return found->second;
  return known.by_ordinal.emplace(ordinal, ask_for_properties(ordinal)).first->second;
}

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
  static auto& contexts = *new ContextsOfProcess;
  const int ordinal = selected_device().ordinal;
  const std::lock_guard lock(contexts.mutex);
  DeviceContext*& context = contexts.by_ordinal[ordinal];
  if (context == nullptr) context = new DeviceContext(ordinal);
  static const FreedAtExit words{contexts};
  return *context;
}

}  // namespace skyrank::kernels::cuda
