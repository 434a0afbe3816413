#pragma once

#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/device/resident.hpp"
#include "engine/device/row_set.hpp"
#include "engine/runtime/stopwatch.hpp"
#include "kernels/cuda/expression/columns.hpp"

// The memory of one query on a GPU: columns, tables of constants and row ids, each copied once. What later queries
// share stays (resident.hpp); the rest is freed with the query.
namespace skyrank::exec {

/// The state of one query on the device, beyond what its tables keep there. For one thread.
class DeviceQueryState {
 public:
  /// With `shares`, columns that the query copies to the device stay there for later queries, until their table is
  /// gone.
  explicit DeviceQueryState(bool shares = false) : shares_(shares) {}

  /// Returns a column's values on the device, valid until the query ends. The column must have a device form.
  const kernels::StoredColumn& column(const ColumnData& column);

  /// Copies values to the memory of the device, for as long as the query runs.
  template <class T>
  const T* upload(const std::vector<T>& values) {
    Stopwatch watch;
    tables_.emplace_back(values.data(), values.size() * sizeof(T));
    transfer_ms_ += watch.lap();
    return static_cast<const T*>(tables_.back().data());
  }

  /// The rows on the device.
  kernels::cuda::expression::DeviceRows rows(const RowSet& rows);

  /// Milliseconds of transfers since it began, by the host's clock.
  double transfer_ms() const { return transfer_ms_; }
  void add_transfer(double ms) { transfer_ms_ += ms; }

  bool shares() const { return shares_; }
  /// Number of columns that the query reads on the device, and of those among them that earlier queries left there.
  std::size_t columns() const { return shared_.size(); }
  std::size_t columns_found() const { return found_; }

 private:
  /// Tells a column from all others whose memory is held.
  using Identity =
      std::tuple<const void*, const void*, std::int64_t, std::int64_t, std::int64_t, std::int64_t, Layout, Type, Type>;
  static Identity identity_of(const ColumnData& column);

  bool shares_ = false;
  std::map<Identity, std::shared_ptr<ResidentColumn>> columns_;
  /// Columns of tables. Held, as the table that shares one may be gone before the query ends.
  std::set<std::shared_ptr<ResidentColumn>> shared_;
  std::size_t found_ = 0;
  std::vector<kernels::cuda::DeviceArray> tables_;
  double transfer_ms_ = 0;
};

}  // namespace skyrank::exec
