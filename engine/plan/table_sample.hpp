#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <skyrank/table.hpp>

#include "engine/keys/preference_plan.hpp"
#include "engine/query/bound.hpp"
#include "kernels/common/memory.hpp"
#include "planner/choose.hpp"
#include "planner/statistics.hpp"

// What a sample of a table's rows tells of a query. Costs about a hundredth of what the query is expected to take, once
// for each table and query: tables keep it.
namespace skyrank::exec {

/// What the sampled rows tell of one query.
struct TableSample {
  std::size_t rows = 0;               ///< looked at; 0: none
  std::optional<double> selectivity;  ///< of the condition, in [0, 1]
  std::optional<double> groups;       ///< of group_by, else partitions, among all rows
  planner::Statistics preference;     ///< of the first step's keys, over rows that pass the condition
  planner::Statistics ranking;        ///< of the ranking's keys; assumed, where a skyline comes before it
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

/// Looks at a sample of the rows, or remembers what was seen in it. Of queries with `group_by`, whose later stages work
/// on another table, only the condition and the groups are looked at; nothing is of small inputs, and where an
/// expression fails on a sampled row: the error is for the run to report.
TableSample sample_table(const query::BoundQuery& query, const std::optional<PreferencePlan>& preference,
                         const Table& table, const planner::Machine& machine);

}  // namespace skyrank::exec
