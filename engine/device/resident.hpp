#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/query/bound.hpp"
#include "engine/runtime/device_values.hpp"
#include "kernels/common/stored.hpp"

// Columns in the memory of a GPU. A copy belongs to the column (runtime/column_cache.hpp), so that all queries over a
// table, or over copies of it, share one; it is made when the first kernel asks for the values.
namespace skyrank::exec {

/// The values of a column in the memory of a device, from when they are first asked for until the last table that has
/// the column is gone. Thread-safe.
class ResidentColumn {
 public:
  /// On the device that the thread has selected. `column` has a device form.
  explicit ResidentColumn(ColumnData column);

  /// For values that the caller has on a device, where they are read.
  ResidentColumn(ColumnData column, std::shared_ptr<DeviceValues> lent);

  /// Numbers of up to 64 bits, times and truths have one; of strings the indices into a dictionary.
  static bool is_possible(const ColumnData& column);

  /// The device, by its number in the CUDA runtime.
  int device() const { return device_; }

  /// Bytes of device memory for the values and the NULLs.
  std::size_t bytes() const;

  /// Returns true if the values are on the device.
  bool is_there() const;

  /// Brings them there unless they are. Throws kernels::cuda::OutOfMemory. `transfer_ms` grows by the time that takes.
  const kernels::StoredColumn& values(double& transfer_ms);

 private:
  struct Copy {
    kernels::StoredColumn column;
    std::shared_ptr<void> values;
    std::shared_ptr<void> validity;
  };

  Copy make_copy() const;
  std::shared_ptr<void> copy_values() const;
  bool is_lent_here() const { return lent_ != nullptr && lent_->device() == device_; }

  ColumnData column_;
  const int device_;
  mutable std::mutex mutex_;
  std::optional<Copy> copy_;
  const std::shared_ptr<DeviceValues> lent_;  ///< values that the caller has on a GPU; null: none
};

/// The values of a column on the device that the thread has selected, as Engine::pin copied them or the caller has them
/// there; null without.
std::shared_ptr<ResidentColumn> pinned_here(const ColumnData& column);

/// The copy of a column on the selected device that queries share, pinned or not; null where the column is none of a
/// table. It has a device form, and is there once a query has asked for its values.
std::shared_ptr<ResidentColumn> shared_on_device(const ColumnData& column);

/// Returns true if the caller has a column's values on the device that the thread has selected, and not on the host.
bool is_only_here(const ColumnData& column);

/// Returns the columns that the condition, the preference and the ranking read, ascending. Columns that only the answer
/// shows are read on the host.
std::vector<int> columns_of_keys(const query::BoundQuery& query);

/// The columns that make groups, and those that aggregates of these read.
std::vector<int> columns_of_groups(const query::BoundGroup& group);

/// Returns the columns that some expressions read, ascending.
std::vector<int> columns_of(const std::vector<const query::BoundExpression*>& expressions);

/// The parts of a table that a query reads in the memory of the device. With `shares`, columns that earlier queries
/// copied there count.
struct Residency {
  double unsent = 0;     ///< bytes of columns that are not there yet
  double row_bytes = 0;  ///< bytes of one row in all columns that it reads
};
Residency residency_of(const std::vector<int>& columns, const Table& table, bool shares = false);

/// Returns the same table with columns that stay on the selected device once a query has copied them there.
Table kept_on_device(const Table& table);

/// Copies all those columns to the device, or none. Throws ResourceError with the bytes needed and available.
void copy_to_device(const Table& table);

}  // namespace skyrank::exec
