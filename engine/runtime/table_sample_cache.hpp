#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/runtime/column_cache.hpp"
#include "kernels/common/memory.hpp"
#include "planner/facts/cardinality.hpp"
#include "planner/sampling.hpp"

// Data that the engine keeps with a table: the planner's samples by query, and views of its rows as several GPUs have
// them.
namespace skyrank::exec {

/// The findings of a sample for one query.
struct TableSample {
  std::size_t rows = 0;                        ///< looked at; 0: none
  std::optional<double> selectivity;           ///< share of rows that pass the condition, in [0, 1]
  double independent = 0;                      ///< rows looked at for that share, fewer where neighbours pass together
  std::optional<planner::Cardinality> groups;  ///< groups, or else partitions, among all rows that pass
  bool far_apart = false;                      ///< values of groups are too far apart to number the groups by them
  planner::Statistics preference;  ///< statistics of the first step's keys, over rows that pass the condition
  planner::Statistics ranking;     ///< statistics of the ranking's keys; assumed if a skyline comes before it

  /// Returns how many of the table's rows pass the condition; all where the sample says nothing of it.
  planner::Cardinality passing(double table_rows) const {
    if (!selectivity) return planner::Cardinality::exactly(table_rows);
    const planner::ShareBounds bounds = planner::bounds_of_share(*selectivity, independent);
    const bool none_seen = *selectivity * static_cast<double>(rows) < 1;  // half a row stands for none
    return planner::Cardinality::around(none_seen ? 0 : bounds.low * table_rows, *selectivity * table_rows,
                                        bounds.high * table_rows);
  }
};

/// The samples of one table, by query. Thread-safe.
class TableSampleCache {
 public:
  std::optional<TableSample> find(const std::string& query) const;
  void keep(const std::string& query, const TableSample& sample);
  /// Expires with the table, of which no other has the same owner.
  std::weak_ptr<const void> table() const { return table_; }

 private:
  static constexpr std::size_t kMaxKept = 256;  ///< beyond that all are forgotten

  struct Kept {
    TableSample sample;
    kernels::Charge charge;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Kept, std::less<>> samples_;
  std::shared_ptr<const void> table_ = std::make_shared<const char>('\0');
};

/// Views of a table's rows, part by part, as several GPUs have them: kept so that what queries find in the parts, or
/// bring to a GPU, serves later ones. Thread-safe.
class PartTables {
 public:
  /// Returns the parts named `name`; `make` makes them when they are first asked for.
  std::vector<Table> get(const std::vector<std::int64_t>& name, const std::function<std::vector<Table>()>& make) {
    const std::lock_guard lock(mutex_);
    std::vector<Table>& tables = tables_[name];
    if (tables.empty()) tables = make();
    return tables;
  }

 private:
  std::mutex mutex_;
  std::map<std::vector<std::int64_t>, std::vector<Table>> tables_;
};

}  // namespace skyrank::exec

namespace skyrank {

/// The data that the engine keeps with a table.
struct Table::Kept {
  exec::TableSampleCache samples;
  exec::PartTables parts;
};

inline exec::TableSampleCache* KeptAccess::samples(const Table& table) {
  return table.kept_ != nullptr ? &table.kept_->samples : nullptr;
}

inline exec::PartTables* KeptAccess::parts(const Table& table) {
  return table.kept_ != nullptr ? &table.kept_->parts : nullptr;
}

}  // namespace skyrank
