#pragma once

#include <cstddef>
#include <vector>

#include "kernels/cuda/device/context.hpp"

// Calls of CUB, and small results of kernels on the host.
namespace skyrank::kernels::cuda {

/// Runs a function of CUB, which is asked for the size of its temporary memory first.
template <class F>
void with_temporary(DeviceContext& device, const F& f) {
  std::size_t bytes = 0;
  f(nullptr, bytes);
  const auto temporary = device.allocate<std::byte>(bytes);
  f(temporary.data(), bytes);
}

/// Copies what the kernels so far leave in device memory.
template <class T>
std::vector<T> to_host(const T* from, std::size_t n, DeviceContext& device) {
  std::vector<T> values(n);
  device.synchronize();
  device.transfer().download(values.data(), from, n * sizeof(T));
  return values;
}

/// Returns one value that the kernels so far leave in device memory. Waits for them.
template <class T>
T value_at(const T* from, const DeviceContext& device) {
  T value{};
  SKYRANK_CUDA_CALL(cudaMemcpyAsync(&value, from, sizeof(value), cudaMemcpyDeviceToHost, device.stream()));
  device.synchronize();
  return value;
}

}  // namespace skyrank::kernels::cuda
