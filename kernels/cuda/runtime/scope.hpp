#pragma once

#include <cstddef>
#include <limits>

// The GPU that a thread's work goes to. Plain C++.
namespace skyrank::kernels::cuda {

/// A GPU, and what may be used for it.
struct SelectedDevice {
  int ordinal = 0;  ///< number of the device in the CUDA runtime, from 0
  /// Bytes of its memory that the process's own context may have in use while the thread allocates.
  std::size_t memory_limit = std::numeric_limits<std::size_t>::max();
  int copy_threads = 1;   ///< threads of the host that copy pageable memory for it at a time
  bool may_fail = false;  ///< running out of memory is no error: whoever gave the work has smaller parts of it

  bool operator==(const SelectedDevice&) const = default;
};

/// Returns the calling thread's GPU: that of the process (start.hpp) without a limit, unless a DeviceScope says
/// otherwise.
const SelectedDevice& selected_device() noexcept;

/// Selects a GPU for the calling thread while it lives. Starts no driver.
class DeviceScope {
 public:
  explicit DeviceScope(const SelectedDevice& device) noexcept;
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  SelectedDevice device_;
  const SelectedDevice* before_;
};

}  // namespace skyrank::kernels::cuda
