#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/expression/evaluate.hpp"
#include "kernels/cuda/device/array.hpp"

// Selection vectors: the rows that operators hand to each other. The host and the device each get the list when they
// first ask for it, so that a chain of operators on one side copies nothing.
namespace skyrank::exec {

/// The rows that can still be in the answer: all rows of a table, or a list of ascending ids. A list that a preference
/// leaves on the device ascends within each segment. The list is on the host, on the device, or on both once both have
/// read it. A *position* is an index into a row set. Copies share the list. A row set is for one thread until `view`
/// was called.
class RowSet {
 public:
  static RowSet all(std::int64_t n) { return RowSet(n, nullptr); }
  static RowSet listed(Vector<RowId> ids) {
    const auto n = static_cast<std::int64_t>(ids.size());
    return RowSet(n, std::make_shared<Lists>(Lists{std::move(ids), std::nullopt}));
  }
  static RowSet on_device(std::int64_t n, kernels::cuda::DeviceArray ids) {
    return RowSet(n, std::make_shared<Lists>(Lists{std::nullopt, std::move(ids)}));
  }

  std::int64_t size() const { return n_; }
  bool is_all() const { return lists_ == nullptr; }
  Rows view() const { return {n_, lists_ != nullptr ? on_host().data() : nullptr}; }
  /// Ids on the device; null where these are all rows.
  const RowId* device_ids() const;
  bool has_device_ids() const { return lists_ == nullptr || lists_->device.has_value(); }

  /// Returns the ids at some positions. Copies a list on the device to the host only for half of its rows or more.
  Vector<RowId> at(const Vector<std::int64_t>& positions) const;

 private:
  struct Lists {
    std::optional<Vector<RowId>> host;
    std::optional<kernels::cuda::DeviceArray> device;
  };

  RowSet(std::int64_t n, std::shared_ptr<Lists> lists) : n_(n), lists_(std::move(lists)) {}

  const Vector<RowId>& on_host() const;

  std::int64_t n_ = 0;
  std::shared_ptr<Lists> lists_;
};

}  // namespace skyrank::exec
