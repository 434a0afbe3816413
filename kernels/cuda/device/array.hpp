#pragma once

#include <cstddef>
#include <memory>

// Device memory for those who know nothing of CUDA. Plain C++: in a build without CUDA there is none, and asking for
// some throws Failure.
namespace skyrank::kernels::cuda {

/// Bytes in the memory of the device of the process's own context. Copies share them; the last one frees them, in the
/// order of the context's stream. What is put on that stream later sees what was written here before.
class DeviceArray {
 public:
  DeviceArray() = default;
  /// Unwritten. Throws Failure, and OutOfMemory with what is needed and what is available.
  explicit DeviceArray(std::size_t bytes);
  /// A copy of the host's memory, through pinned staging.
  DeviceArray(const void* source, std::size_t bytes);

  void* data() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }
  const std::shared_ptr<void>& owner() const { return memory_; }

  /// Copies from the host's memory to `offset`. Returns once `source` was read.
  void write(std::size_t offset, const void* source, std::size_t bytes) const;
  /// The same of memory in a PinnedRange. Returns once it was copied.
  void write_pinned(std::size_t offset, const void* source, std::size_t bytes) const;

 private:
  std::shared_ptr<void> memory_;
  std::size_t bytes_ = 0;
};

/// Host memory that copies to a device read without staging, as long as this lives. Throws Failure.
class PinnedRange {
 public:
  PinnedRange(void* memory, std::size_t bytes);
  ~PinnedRange();
  PinnedRange(const PinnedRange&) = delete;
  PinnedRange& operator=(const PinnedRange&) = delete;

 private:
  void* memory_;
};

/// Copies device memory of that device to the host once what was put on the context's stream is done.
void read_array(void* target, const void* from_device, std::size_t bytes);

/// Device memory that can still be had.
std::size_t available_bytes();

/// The most bytes of temporary device memory that the process's own context had in use at a time since the last call.
std::size_t peak_temporary_bytes();

}  // namespace skyrank::kernels::cuda
