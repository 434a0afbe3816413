#pragma once

#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/exec/device/resident.hpp"
#include "engine/exec/keys.hpp"
#include "engine/exec/row_set.hpp"
#include "engine/exec/runtime.hpp"
#include "kernels/cuda/expression/columns.hpp"

namespace skyrank::exec {

/// What one query has on the device, beyond what its tables keep there. For one thread.
class DeviceSession {
 public:
  /// With `shares`, columns that are brought to the device stay there for later queries, as long as their table does.
  explicit DeviceSession(bool shares = false) : shares_(shares) {}

  /// Returns a column's values on the device, valid until the session ends. The column must have a device form.
  const kernels::StoredColumn& column(const ColumnData& column);

  /// Memory of the device with a copy of the host's, for as long as the session lives.
  template <class T>
  const T* bring(const std::vector<T>& values) {
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
  /// Columns that the query read there, and how many of them earlier queries had brought.
  std::size_t columns() const { return shared_.size(); }
  std::size_t columns_found() const { return found_; }

 private:
  /// What tells a column from all others whose memory is held.
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

/// The rows among `rows` for which a condition is true, found on the device where that can be: a condition that fails
/// for some row is left to the host, which names the row.
RowSet filter(DeviceSession& session, const query::BoundExpression& condition, const Table& table, const RowSet& rows);

/// As make_keys of the host, bit for bit, but in the memory of the device. What has no form there (strings that are in
/// no dictionary, ranks of 64 bits with NULLs) is made by the host and sent.
Keys make_keys(DeviceSession& session, const query::BoundPreference& term, const Table& table, const RowSet& rows);
Keys make_keys(DeviceSession& session, const query::BoundRankTerm& term, const Table& table, const RowSet& rows);

/// n keys in the host's memory, or in the device's. They stay where they are if they are there.
Keys to_host(const Keys& keys, std::int64_t n);
Keys to_device(const Keys& keys, std::int64_t n);

/// Key columns where an algorithm can read them.
class HeldKeys {
 public:
  /// n keys of each of `columns`, which it views where they lie, unless they are on the device and `device` is not, or
  /// they lie there without alignment.
  HeldKeys(const std::vector<Keys>& columns, std::int64_t n, kernels::Device device);

  std::span<const kernels::KeyColumn> columns() const { return columns_; }
  kernels::Memory memory() const { return memory_; }

 private:
  std::vector<Keys> held_;
  std::vector<kernels::KeyColumn> columns_;
  kernels::Memory memory_;
};

// What the functions of keys.hpp and key_columns.hpp do with keys that are on the device.
Keys widen_on_device(const Keys& keys, std::int64_t n, kernels::KeyWidth width);
Keys combine_prior_on_device(const std::vector<Keys>& columns, std::int64_t n);
Keys take_on_device(const Keys& keys, std::span<const std::int64_t> positions);
/// `positions` holds `count` of type int64, on the device.
Keys take_on_device(const Keys& keys, const kernels::cuda::DeviceArray& positions, std::size_t count);

}  // namespace skyrank::exec
