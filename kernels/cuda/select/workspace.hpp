#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/cuda/device/memory.hpp"

namespace skyrank::kernels::cuda::select {

/// Takes arrays out of memory of a caller's, one behind the other. Without memory it counts what they need, so that the
/// same code says how much a run takes and takes it.
class Workspace {
 public:
  Workspace() = default;
  explicit Workspace(void* memory) : memory_(static_cast<std::byte*>(memory)) {}

  /// Returns an array of `size` values, aligned to 256 bytes; null where there is no memory.
  template <class T>
  T* take(std::size_t size) {
    const std::size_t begin = bytes_;
    bytes_ += (size * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + begin);
  }

  /// Takes as much as another one did that began as a copy of this one, and whose arrays may be overwritten now.
  void cover(const Workspace& other) { bytes_ = std::max(bytes_, other.bytes_); }

  /// Returns true if there is no memory.
  bool counts() const { return memory_ == nullptr; }
  /// Returns the bytes that were taken.
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kAlignment = 256;

  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A workspace as the memory of what gives its memory back, which here it keeps.
class WorkspaceMemory final : public MemoryResource {
 public:
  explicit WorkspaceMemory(Workspace& workspace) : workspace_(workspace) {}

  void* allocate(std::size_t bytes, cudaStream_t /*stream*/) override { return workspace_.take<std::byte>(bytes); }
  void deallocate(void* /*data*/, std::size_t /*bytes*/, cudaStream_t /*stream*/) noexcept override {}

 private:
  Workspace& workspace_;
};

}  // namespace skyrank::kernels::cuda::select
