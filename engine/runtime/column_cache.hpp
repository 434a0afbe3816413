#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include <skyrank/table.hpp>

// Data that the engine keeps with a column for later queries over it: zone maps and copies on GPUs. The public headers
// only declare them; a copy of a column shares them, a column with other values must not (drop_kept).
namespace skyrank::exec {

class DeviceValues;      // engine/runtime/device_values.hpp
class PartTables;        // engine/runtime/table_sample_cache.hpp
class ResidentColumn;    // engine/device/resident.hpp
class TableSampleCache;  // engine/runtime/table_sample_cache.hpp
struct ColumnTraits;     // engine/column_traits.hpp

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

/// Reaches what the engine keeps with columns and tables, which the public headers hide.
struct KeptAccess {
  /// Returns what is kept with a column; null where nothing is.
  static std::shared_ptr<ColumnData::Kept>& column(ColumnData& data) { return data.kept_; }
  static const std::shared_ptr<ColumnData::Kept>& column(const ColumnData& data) { return data.kept_; }
  /// Returns what the planner has seen of a table's rows (table_sample_cache.hpp); null for a table without columns.
  static exec::TableSampleCache* samples(const Table& table);
  /// Returns the table's parts on several GPUs; null for a table without columns.
  static exec::PartTables* parts(const Table& table);
};

}  // namespace skyrank

namespace skyrank::exec {

/// Gives a column caches of its own, and copies and traits of its values; null for none.
inline void set_kept(ColumnData& data, std::shared_ptr<ResidentColumn> pinned,
                     std::shared_ptr<const SpreadColumn> spread, std::shared_ptr<DeviceValues> lent = nullptr,
                     std::shared_ptr<const ColumnTraits> traits = nullptr) {
  auto& kept = KeptAccess::column(data);
  kept = std::make_shared<std::remove_reference_t<decltype(*kept)>>(std::move(pinned), std::move(spread),
                                                                    std::move(lent), std::move(traits));
}

/// Leaves a column without what queries found in its values, for one that is to have others.
inline void drop_kept(ColumnData& data) { KeptAccess::column(data).reset(); }

/// Returns a column's cache, or null where it keeps nothing.
inline ColumnCache* cache_of(const ColumnData& column) {
  const auto& kept = KeptAccess::column(column);
  return kept != nullptr ? &kept->cache : nullptr;
}

/// Returns the values of a column that are on a GPU because the caller has them there, or null.
inline std::shared_ptr<DeviceValues> lent_of(const ColumnData& column) {
  const auto& kept = KeptAccess::column(column);
  return kept != nullptr ? kept->lent : nullptr;
}

/// Returns the values of a column on the one GPU where Engine::pin copied them or the caller has them, or null.
inline std::shared_ptr<ResidentColumn> pinned_of(const ColumnData& column) {
  const auto& kept = KeptAccess::column(column);
  return kept != nullptr ? kept->pinned : nullptr;
}

/// Returns the parts that Engine::pin made of a column on several GPUs, or null.
inline std::shared_ptr<const SpreadColumn> spread_of(const ColumnData& column) {
  const auto& kept = KeptAccess::column(column);
  return kept != nullptr ? kept->spread : nullptr;
}

}  // namespace skyrank::exec
