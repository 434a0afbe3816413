#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <mutex>

#include "kernels/cuda/device/memory.hpp"
#include "kernels/cuda/device/stream.hpp"
#include "kernels/cuda/device/transfer.hpp"

// Per-device state of kernel runs: streams, temporary memory that the next run reuses, and limits of the hardware.
namespace skyrank::kernels::cuda {

/// Device limits that determine launch sizes; cached.
struct Properties {
  std::size_t multiprocessors = 0;
  bool overlaps_launches = false;          ///< a kernel may be placed while the one before it ends (Grid::overlaps)
  std::size_t shared_bytes_per_block = 0;  ///< with opting in
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
};

/// Returns the limits of a device, which are asked for once. Throws Failure.
const Properties& properties_of(int ordinal);

/// A word of the current device's memory, zero once what was put on `stream` before is done.
class ZeroWord {
 public:
  explicit ZeroWord(cudaStream_t stream);
  ~ZeroWord() { (void)cudaFree(word_); }
  ZeroWord(const ZeroWord&) = delete;
  ZeroWord& operator=(const ZeroWord&) = delete;

  unsigned* get() const { return word_; }

 private:
  unsigned* word_ = nullptr;
};

/// All that runs on a device need: its streams, its temporary memory, its properties. One run uses it at a time.
class DeviceContext {
 public:
  /// Throws Failure when there is no such device. At most `memory_limit` bytes of temporary memory are in use.
  explicit DeviceContext(int ordinal = 0, std::size_t memory_limit = kNoLimit);
  /// With temporary memory from elsewhere, which lives longer.
  DeviceContext(int ordinal, MemoryResource& memory);

  /// The process's own context, of the device that start.hpp says, made when first asked for and never
  /// destroyed: at the end of the process the driver may be gone first.
  static DeviceContext& of_process();

  int ordinal() const { return ordinal_; }
  const Properties& properties() const { return properties_; }
  cudaStream_t stream() const { return stream_.get(); }
  Transfer& transfer() { return transfer_; }
  MemoryResource& memory() { return *memory_; }

  template <class T>
  Buffer<T> allocate(std::size_t size) {
    return Buffer<T>(size, *memory_, stream());
  }

  /// A word of device memory that is zero between the kernels of the stream: the blocks of one count themselves there,
  /// and the last one sets it back (last_block of block.cuh).
  unsigned* arrivals() const { return arrivals_.get(); }

  /// Waits for the stream; throws the Failure of what failed there.
  void synchronize() const { stream_.synchronize(); }

 private:
  friend class Lease;

  /// Makes its members while `current` holds the device.
  DeviceContext(const CurrentDevice& current, int ordinal, std::unique_ptr<MemoryResource> owned,
                MemoryResource* memory);

  int ordinal_;
  const Properties& properties_;
  std::unique_ptr<MemoryResource> owned_;
  MemoryResource* memory_;
  Stream stream_;
  Transfer transfer_;
  std::mutex mutex_;
  ZeroWord arrivals_;
};

/// A stream of a device, and the limits of that device: all that launches need which allocate nothing.
struct DeviceStream {
  cudaStream_t stream;
  const Properties& properties;

  DeviceStream(cudaStream_t stream_of_device, const Properties& of_device)
      : stream(stream_of_device), properties(of_device) {}
  DeviceStream(const DeviceContext& context)  // NOLINT(google-explicit-constructor): a context is one with its stream
      : DeviceStream(context.stream(), context.properties()) {}
};

/// The right to use a context, and its device as the thread's current one.
class Lease {
 public:
  explicit Lease(DeviceContext& context) : lock_(context.mutex_), current_(context.ordinal()) {}

 private:
  std::lock_guard<std::mutex> lock_;
  CurrentDevice current_;
};

}  // namespace skyrank::kernels::cuda
