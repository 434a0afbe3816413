#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "kernels/cuda/device/context.hpp"

namespace skyrank::kernels::tests {

/// Values into as much memory of a device, complete for whatever comes next on any stream.
template <class T>
void copy_to(const cuda::Buffer<T>& buffer, const std::vector<T>& values, cuda::DeviceContext& device) {
  device.synchronize();
  device.transfer().upload(buffer.data(), values.data(), buffer.bytes());
  SKYRANK_CUDA_CALL(cudaStreamSynchronize(device.transfer().stream()));
}

template <class T>
cuda::Buffer<T> on_device(const std::vector<T>& values, cuda::DeviceContext& device) {
  auto buffer = device.allocate<T>(values.size());
  copy_to(buffer, values, device);
  return buffer;
}

/// Values from there, once all that was put on the device's stream is done.
template <class T>
std::vector<T> on_host(const cuda::Buffer<T>& buffer, cuda::DeviceContext& device) {
  device.synchronize();
  std::vector<T> values(buffer.size());
  device.transfer().download(values.data(), buffer.data(), buffer.bytes());
  return values;
}

}  // namespace skyrank::kernels::tests
