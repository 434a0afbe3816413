#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <utility>

#include <skyrank/table.hpp>

namespace skyrank::exec {

class ResidentColumn;  // engine/device/resident.hpp

/// The results of queries over a column that later ones use: its zone maps and its copy on a GPU. It lives as long as
/// the column. Thread-safe.
class ColumnCache {
 public:
  using ZoneMap = std::shared_ptr<const void>;

  /// The least keys of every kernels::kZoneRows rows, low values first or high values first, by the keys that FusedKeys
  /// makes of the column. Null until the query that first gains by one keeps it.
  ZoneMap zone_map(bool high) const {
    const std::scoped_lock lock(mutex_);
    return zone_maps_[high ? 1 : 0];
  }

  /// Keeps a map, unless another query was first; gives the one that is kept.
  ZoneMap keep_zone_map(bool high, ZoneMap map) {
    const std::scoped_lock lock(mutex_);
    ZoneMap& kept = zone_maps_[high ? 1 : 0];
    if (kept == nullptr) kept = std::move(map);
    return kept;
  }

  /// The copy on a GPU that the column's queries share; null until one is kept.
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
  std::array<ZoneMap, 2> zone_maps_;
  std::shared_ptr<ResidentColumn> on_device_;
};

}  // namespace skyrank::exec

namespace skyrank {

/// The data that the engine keeps with a column.
struct ColumnData::Kept {
  explicit Kept(std::shared_ptr<exec::ResidentColumn> on_device = nullptr) : pinned(std::move(on_device)) {}

  exec::ColumnCache cache;
  const std::shared_ptr<exec::ResidentColumn> pinned;  ///< the same values on a GPU, by Engine::pin; null without
};

}  // namespace skyrank

namespace skyrank::exec {

/// Returns a column's cache, or null where it keeps nothing.
inline ColumnCache* cache_of(const ColumnData& column) {
  return column.kept != nullptr ? &column.kept->cache : nullptr;
}

/// Returns the copy that Engine::pin made of a column, or null.
inline std::shared_ptr<ResidentColumn> pinned_of(const ColumnData& column) {
  return column.kept != nullptr ? column.kept->pinned : nullptr;
}

}  // namespace skyrank::exec
