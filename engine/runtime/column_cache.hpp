#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <skyrank/table.hpp>

namespace skyrank::exec {

class DeviceValues;    // engine/runtime/device_values.hpp
class ResidentColumn;  // engine/device/resident.hpp
struct ColumnTraits;   // engine/column_traits.hpp

/// A column whose rows Engine::pin has spread over several GPUs: each part is a view of consecutive rows that is pinned
/// to one of them. Together, in their order, they are the column.
struct SpreadColumn {
  std::vector<int> devices;  ///< GPU of each part
  std::vector<Column> parts;
};

/// The results of queries over a column that later ones use: its zone maps and its copies on GPUs. It lives as long as
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
  std::shared_ptr<ResidentColumn> on_device(int ordinal) const {
    const std::scoped_lock lock(mutex_);
    const auto found = on_device_.find(ordinal);
    return found == on_device_.end() ? nullptr : found->second;
  }

  /// Keeps a copy, unless another query was first; gives the one that is kept.
  std::shared_ptr<ResidentColumn> keep_on_device(int ordinal, std::shared_ptr<ResidentColumn> column) {
    const std::scoped_lock lock(mutex_);
    return on_device_.emplace(ordinal, std::move(column)).first->second;
  }

 private:
  mutable std::mutex mutex_;
  std::array<ZoneMap, 2> zone_maps_;
  std::map<int, std::shared_ptr<ResidentColumn>> on_device_;
};

}  // namespace skyrank::exec

namespace skyrank {

/// The data that the engine keeps with a column.
struct ColumnData::Kept {
  explicit Kept(std::shared_ptr<exec::ResidentColumn> on_device = nullptr,
                std::shared_ptr<const exec::SpreadColumn> on_devices = nullptr,
                std::shared_ptr<exec::DeviceValues> lent_values = nullptr,
                std::shared_ptr<const exec::ColumnTraits> column_traits = nullptr)
      : pinned(std::move(on_device)),
        spread(std::move(on_devices)),
        lent(std::move(lent_values)),
        traits(std::move(column_traits)) {}

  exec::ColumnCache cache;
  /// The same values on a GPU, by Engine::pin or because the caller has them there; null without.
  const std::shared_ptr<exec::ResidentColumn> pinned;
  const std::shared_ptr<const exec::SpreadColumn> spread;  ///< the same values on several GPUs; null without
  const std::shared_ptr<exec::DeviceValues> lent;  ///< the values, if the caller has them on a GPU; null without
  const std::shared_ptr<const exec::ColumnTraits> traits;  ///< zone or order; null without
};

}  // namespace skyrank

namespace skyrank::exec {

/// Returns a column's cache, or null where it keeps nothing.
inline ColumnCache* cache_of(const ColumnData& column) {
  return column.kept != nullptr ? &column.kept->cache : nullptr;
}

/// Returns the values of a column that are on a GPU because the caller has them there, or null.
inline std::shared_ptr<DeviceValues> lent_of(const ColumnData& column) {
  return column.kept != nullptr ? column.kept->lent : nullptr;
}

/// Returns the values of a column on the one GPU where Engine::pin copied them or the caller has them, or null.
inline std::shared_ptr<ResidentColumn> pinned_of(const ColumnData& column) {
  return column.kept != nullptr ? column.kept->pinned : nullptr;
}

/// Returns the parts that Engine::pin made of a column on several GPUs, or null.
inline std::shared_ptr<const SpreadColumn> spread_of(const ColumnData& column) {
  return column.kept != nullptr ? column.kept->spread : nullptr;
}

}  // namespace skyrank::exec
