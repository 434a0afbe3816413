#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "kernels/cuda/runtime/failure.hpp"

// Device memory in stream order: what is freed may serve what the same stream does next, without waiting.
namespace skyrank::kernels::cuda {

inline constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

/// A source of temporary device memory.
class MemoryResource {
 public:
  MemoryResource() = default;
  MemoryResource(const MemoryResource&) = delete;
  MemoryResource& operator=(const MemoryResource&) = delete;
  virtual ~MemoryResource() = default;

  /// Returns `bytes` > 0 of memory, aligned to 256 bytes. Throws OutOfMemory.
  virtual void* allocate(std::size_t bytes, cudaStream_t stream) = 0;
  virtual void deallocate(void* data, std::size_t bytes, cudaStream_t stream) noexcept = 0;

  /// Makes copies from all of its memory to another device direct where the machine can; elsewhere they go through the
  /// host. Throws Failure.
  virtual void let_access(int /*ordinal*/) {}
};

/// A pool of the driver's, with a limit of bytes in use. Small blocks that were given back are kept by size and stream,
/// so that a query like the one before makes no call to the driver for its memory.
class PoolResource final : public MemoryResource {
 public:
  /// Throws Failure.
  explicit PoolResource(int ordinal, std::size_t limit = kNoLimit);
  ~PoolResource() override;

  void* allocate(std::size_t bytes, cudaStream_t stream) override;
  void deallocate(void* data, std::size_t bytes, cudaStream_t stream) noexcept override;
  void let_access(int ordinal) override;

  /// Gives the driver what it keeps. Waits for the device.
  void give_back_kept() noexcept;

  std::size_t limit() const { return limit_; }
  std::size_t in_use() const;
  /// Bytes that can still be had: of the device's free ones and those that the pool holds without use, but no more than
  /// the limit leaves. The pool's device is the current one.
  std::size_t available() const;
  /// The most bytes that were in use at a time, since the last call of `forget_peak`.
  std::size_t peak() const;
  void forget_peak();

 private:
  using Kept = std::map<std::pair<cudaStream_t, std::size_t>, std::vector<void*>>;

  void reserve(std::size_t bytes);
  void give_back(std::size_t bytes) noexcept;
  void* take_kept(std::size_t bytes, cudaStream_t stream);

  cudaMemPool_t pool_ = nullptr;
  int ordinal_;
  std::size_t limit_;
  mutable std::mutex mutex_;
  std::size_t in_use_ = 0;
  std::size_t peak_ = 0;
  Kept kept_;
  std::set<int> asked_;  ///< devices that let_access has been called for
};

/// An array of `size` objects in device memory. It is not initialised, and is freed in the stream's order.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  /// Throws OutOfMemory.
  Buffer(std::size_t size, MemoryResource& memory, cudaStream_t stream)
      : memory_(&memory), stream_(stream), size_(size) {
    if (size > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw OutOfMemory(size, sizeof(T));
    if (size > 0) data_ = static_cast<T*>(memory.allocate(size * sizeof(T), stream));
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) memory_->deallocate(data_, size_ * sizeof(T), stream_);
  }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(stream_, other.stream_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  MemoryResource* memory_ = nullptr;
  cudaStream_t stream_ = nullptr;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace skyrank::kernels::cuda
