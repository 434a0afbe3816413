#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <skyrank/plan.hpp>

#include "engine/plan/physical_plan.hpp"
#include "engine/plan/rules.hpp"

namespace skyrank::exec {

/// The measurements of an operator in a run.
struct OperatorMetrics {
  std::optional<std::int64_t> rows;
  std::optional<double> ms;
  std::optional<Work> work;
  std::optional<Transferred> transferred;
  std::optional<PathDescription> path;     ///< the path that was taken, with its price for the exact sizes
  std::optional<std::int64_t> partitions;  ///< number of partitions that a partition operator made
  std::string note;                        ///< how the operator ran, where there is no path to tell
};

/// The findings of a run of a plan; the plan itself does not change.
class RunRecord {
 public:
  explicit RunRecord(const PhysicalPlan& plan) : rules(plan.rules), origin(plan.origin) {}

  /// Returns the metrics of an operator; empty before it runs.
  OperatorMetrics& of(const Operator& op) { return metrics_[{op.kind, op.step}]; }

  /// Returns the metrics of an operator, or null if it did not run.
  const OperatorMetrics* find(const Operator& op) const {
    const auto found = metrics_.find({op.kind, op.step});
    return found == metrics_.end() ? nullptr : &found->second;
  }

  RuleLog rules;                              ///< outcomes of the rules, those that only a run can know among them
  bool fell_back = false;                     ///< the guess behind the plan's strategy was wrong
  std::shared_ptr<const TableOrigin> origin;  ///< how the table came about; null: it is the caller's

 private:
  std::map<std::pair<OperatorKind, std::size_t>, OperatorMetrics> metrics_;
};

}  // namespace skyrank::exec
