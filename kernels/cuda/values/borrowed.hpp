#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "kernels/common/problem.hpp"

// Device memory that others own and lend: it is read where it lies, once what they still do with it is done. Plain C++:
// in a build without CUDA there is none, and asking for some throws Failure.
namespace skyrank::kernels::cuda {

/// Values in device memory that their owner lends. The address and the stride are multiples of the width.
struct BorrowedValues {
  const void* first = nullptr;
  std::size_t width = 1;      ///< bytes of a value: 1, 2, 4 or 8
  std::ptrdiff_t stride = 1;  ///< bytes from one value to the next
  std::size_t count = 0;
  int ordinal = 0;  ///< device in whose memory they lie

  std::size_t bytes() const { return width * count; }
  bool is_contiguous() const { return stride == static_cast<std::ptrdiff_t>(width) || count < 2; }
};

/// Returns the device that an address can be read on, or nothing if it is the host's own. Throws Failure.
std::optional<int> device_of(const void* memory);

/// A point in the work of a device after which borrowed memory may be read. Thread-safe.
class ReadyPoint {
 public:
  /// Returns the point at which `event`, a cudaEvent_t that outlives the result, was recorded.
  static std::shared_ptr<ReadyPoint> at_event(void* event);
  /// Returns the end of what is now on `stream`, a cudaStream_t of the device; null: its default stream. Throws
  /// Failure.
  static std::shared_ptr<ReadyPoint> after_stream(void* stream, int ordinal);

  ReadyPoint(const ReadyPoint&) = delete;
  ReadyPoint& operator=(const ReadyPoint&) = delete;
  virtual ~ReadyPoint() = default;

  /// Waits for the point on the host. Throws Failure.
  virtual void wait() = 0;
  /// Makes later work on the stream of the selected device wait for the point. Throws Failure.
  virtual void hold() = 0;

 protected:
  ReadyPoint() = default;
};

/// Copies values, one next to the other, to the memory of the selected device, in the order of its stream. Values of
/// another device must be ready. Throws Failure and OutOfMemory.
std::shared_ptr<void> copy_borrowed(const BorrowedValues& values);

/// Copies values, one next to the other, to the host. Throws Failure and OutOfMemory.
void fetch_borrowed(void* target, const BorrowedValues& values);

/// Copies the values at some places to the host, in the order of the places. Throws Failure and OutOfMemory.
void fetch_borrowed(void* target, const BorrowedValues& values, std::span<const RowId> places);

/// Waits until a device has done all that reads borrowed memory.
void finish_reading(int ordinal) noexcept;

}  // namespace skyrank::kernels::cuda
