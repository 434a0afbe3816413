#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <skyrank/table.hpp>

#include "engine/exec/preference_plan.hpp"
#include "engine/query/bound.hpp"
#include "kernels/common/memory.hpp"
#include "planner/choose.hpp"
#include "planner/statistics.hpp"

// Samples a table's rows for a query. It costs about a hundredth of the query's predicted time, once for each table and
// query: tables keep the result.
namespace skyrank::exec {

struct Survey {
  std::size_t sample = 0;             ///< rows looked at; 0: none
  std::optional<double> selectivity;  ///< share of rows that pass the condition, in [0, 1]
  std::optional<double> groups;       ///< number of groups, or else of partitions, among all rows
  planner::Statistics preference;     ///< statistics of the first step's keys, over rows that pass the condition
  planner::Statistics ranking;        ///< statistics of the ranking's keys; assumed if a skyline comes before it
};

/// The surveys of one table, by query. Thread-safe.
class SurveyCache {
 public:
  std::optional<Survey> find(const std::string& query) const;
  void keep(const std::string& query, const Survey& survey);
  /// Expires with the table, of which no other has the same owner.
  std::weak_ptr<const void> table() const { return table_; }

 private:
  static constexpr std::size_t kMost = 256;  ///< beyond that all are forgotten

  struct Kept {
    Survey survey;
    kernels::Charge charge;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Kept, std::less<>> surveys_;
  std::shared_ptr<const void> table_ = std::make_shared<const char>('\0');
};

/// Looks at a sample of the rows, or remembers what was seen in it. Of queries with `group_by`, whose later stages work
/// on another table, only the condition and the groups are looked at; nothing is of small inputs, and where an
/// expression fails on a sampled row: the error is for the run to report.
Survey survey(const query::BoundQuery& query, const std::optional<PreferencePlan>& preference, const Table& table,
              const planner::Machine& machine);

}  // namespace skyrank::exec
