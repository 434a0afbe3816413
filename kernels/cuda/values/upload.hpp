#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>

// Copies of columns to a GPU beside what its context computes. Plain C++: in a build without CUDA they are refused.
namespace skyrank::kernels::cuda {

/// Values in the host's memory.
struct HostValues {
  const void* first = nullptr;
  std::size_t width = 1;      ///< bytes of a value
  std::ptrdiff_t stride = 1;  ///< bytes from one value to the next
  std::size_t count = 0;

  std::size_t bytes() const { return width * count; }
};

/// Copies values, one next to the other, to the memory of the thread's selected device. Returns it once they are there.
/// Pinned memory is read by the device itself; other memory goes through pinned buffers that as many threads fill as
/// the selected device has for it. Kernels of the device's context go on meanwhile. Throws Failure, OutOfMemory, and
/// Cancelled after a stop.
std::shared_ptr<void> upload(const HostValues& values, const std::stop_token& stop);

}  // namespace skyrank::kernels::cuda
