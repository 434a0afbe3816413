#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "cuda_runtime.h"

namespace skyrank::emulator {

/// Values on the emulated device for as long as it lives.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) { EXPECT_EQ(cudaMalloc(&data_, bytes()), cudaSuccess); }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    EXPECT_EQ(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~DeviceArray() { EXPECT_EQ(cudaFree(data_), cudaSuccess); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return data_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

  std::vector<T> to_host() const {
    std::vector<T> values(count_);
    EXPECT_EQ(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }

 private:
  std::size_t count_;
  T* data_ = nullptr;
};

inline cudaLaunchConfig_t shape(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes = 0) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = dynamic_shared_bytes;
  return config;
}

/// Launches, and expects that it works.
template <class... Parameters, class... Arguments>
void launch(dim3 grid, dim3 block, void (*kernel)(Parameters...), Arguments&&... arguments) {
  const cudaLaunchConfig_t config = shape(grid, block);
  EXPECT_EQ(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...), cudaSuccess);
}

/// Returns the values that `threads` threads of one block wrote, one each.
template <class T>
std::vector<T> run_block(unsigned threads, void (*kernel)(T*)) {
  DeviceArray<T> results(threads);
  launch(1, threads, kernel, results.data());
  return results.to_host();
}

}  // namespace skyrank::emulator
