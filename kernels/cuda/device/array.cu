#include "kernels/cuda/device/array.hpp"

#include <string>

#include "kernels/common/transfers.hpp"
#include "kernels/cuda/device/context.hpp"

namespace skyrank::kernels::cuda {
DeviceArray::DeviceArray(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  auto buffer = std::make_shared<Buffer<std::byte>>(bytes, device.memory(), device.stream());
  memory_ = std::shared_ptr<void>(buffer, buffer->data());
}

DeviceArray::DeviceArray(const void* source, std::size_t bytes) : DeviceArray(bytes) { write(0, source, bytes); }

void DeviceArray::write(std::size_t offset, const void* source, std::size_t bytes) const {
  if (bytes == 0) return;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  order_streams(device.stream(), device.transfer().stream());
  device.transfer().upload(static_cast<std::byte*>(data()) + offset, source, bytes);
  order_streams(device.transfer().stream(), device.stream());
}

void DeviceArray::write_pinned(std::size_t offset, const void* source, std::size_t bytes) const {
  if (bytes == 0) return;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  if (TransferTally* const tally = current_tally()) tally->sent(bytes);
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(static_cast<std::byte*>(data()) + offset, source, bytes, cudaMemcpyHostToDevice,
                                    device.stream()));
  device.synchronize();
}

PinnedRange::PinnedRange(void* memory, std::size_t bytes) : memory_(memory) {
  const Lease lease(DeviceContext::of_process());
  SKYRANK_CUDA_CALL(cudaHostRegister(memory, bytes, cudaHostRegisterDefault));
}

PinnedRange::~PinnedRange() { (void)cudaHostUnregister(memory_); }

void read_array(void* target, const void* from_device, std::size_t bytes) {
  if (bytes == 0) return;
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  order_streams(device.stream(), device.transfer().stream());
  device.transfer().download(target, from_device, bytes);
}

std::size_t available_bytes() {
  DeviceContext& device = DeviceContext::of_process();
  const Lease lease(device);
  return static_cast<PoolResource&>(device.memory()).available();
}

std::size_t peak_temporary_bytes() {
  auto& pool = static_cast<PoolResource&>(DeviceContext::of_process().memory());
  const std::size_t peak = pool.peak();
  pool.forget_peak();
  return peak;
}

}  // namespace skyrank::kernels::cuda
