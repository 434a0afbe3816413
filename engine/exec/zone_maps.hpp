#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <utility>

namespace skyrank::exec {

class ResidentColumn;  // engine/exec/device/resident.hpp

/// The zone maps of a column: the least keys of every kernels::kZoneRows rows, low values first and high values first,
/// by the keys that FusedKeys makes of the column. They are made by the query that first gains by one. Thread-safe.
class ZoneMaps {
 public:
  using Map = std::shared_ptr<const void>;

  /// Null when there is none.
  Map find(bool high) const {
    const std::scoped_lock lock(mutex_);
    return maps_[high ? 1 : 0];
  }

  /// Keeps a map, unless another query was first; gives the one that is kept.
  Map keep(bool high, Map map) {
    const std::scoped_lock lock(mutex_);
    Map& kept = maps_[high ? 1 : 0];
    if (kept == nullptr) kept = std::move(map);
    return kept;
  }

  /// The column's copy on a GPU that its queries share; null until one is kept. It lives as long as the column.
  std::shared_ptr<ResidentColumn> on_device() const {
    const std::scoped_lock lock(mutex_);
    return on_device_;
  }

  /// Keeps a copy, unless another query was first; gives the one that is kept.
  std::shared_ptr<ResidentColumn> keep_on_device(std::shared_ptr<ResidentColumn> column) {
    const std::scoped_lock lock(mutex_);
    if (on_device_ == nullptr) on_device_ = std::move(column);
    return on_device_;
  }

 private:
  mutable std::mutex mutex_;
  std::array<Map, 2> maps_;
  std::shared_ptr<ResidentColumn> on_device_;
};

}  // namespace skyrank::exec
