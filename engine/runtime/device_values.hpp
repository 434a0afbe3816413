#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include <skyrank/table.hpp>

#include "kernels/common/memory.hpp"
#include "kernels/cuda/values/borrowed.hpp"

namespace skyrank::exec {

/// The values of a column that its caller has in the memory of a GPU, and the addresses of their copy on the host.
///
/// The addresses are reserved from the start, so that a column's description never changes. They have no memory, and
/// must not be read, before `copy_to_host` has copied the values, which happens once. `take_rows` copies a few rows
/// instead. Thread-safe.
class DeviceValues {
 public:
  /// The memory that the caller lends, for as long as `owner` lives.
  struct Loan {
    kernels::cuda::BorrowedValues values;
    const std::uint8_t* validity = nullptr;                 ///< byte with the bit of row 0; null: no row is NULL
    std::shared_ptr<kernels::cuda::ReadyPoint> ready = {};  ///< null: the values may be read at once
    std::shared_ptr<const void> owner = {};
  };

  /// Throws ResourceError where there are no addresses for the copy.
  explicit DeviceValues(Loan loan);
  ~DeviceValues();
  DeviceValues(const DeviceValues&) = delete;
  DeviceValues& operator=(const DeviceValues&) = delete;

  int device() const { return loan_.values.ordinal; }
  const kernels::cuda::BorrowedValues& values() const { return loan_.values; }
  const std::uint8_t* validity() const { return loan_.validity; }
  /// Returns the address of the copy in the host's memory, without gaps between values; null if there are no values.
  const void* host_copy() const { return host_copy_; }

  /// Makes later work on the stream of the selected device wait until the values may be read.
  void hold() const;
  /// Blocks the calling thread until the values may be read.
  void wait() const;

  /// Returns true once the copy may be read.
  bool is_on_host() const { return is_on_host_.load(std::memory_order_acquire); }
  /// Copies the values to the host, the first time it is called. Throws kernels::cuda::Failure, and std::bad_alloc and
  /// kernels::OverLimit as all memory of a query does.
  void copy_to_host();
  /// Copies the values of some rows to `target`, without gaps; not for packed booleans.
  void take_rows(std::span<const RowId> rows, void* target) const;

 private:
  const Loan loan_;
  std::size_t mapped_bytes_ = 0;
  void* host_copy_ = nullptr;
  std::mutex mutex_;
  kernels::Charge charge_;
  std::atomic<bool> is_on_host_ = false;
  mutable std::atomic<bool> was_held_ = false;
};

/// Returns the values of a column that are on a GPU and not yet on the host; null for other columns.
DeviceValues* device_only_values(const ColumnData& column);

/// Makes the values of a column readable on the host: copies those that are on a GPU only.
void copy_to_host(const ColumnData& column);

}  // namespace skyrank::exec
