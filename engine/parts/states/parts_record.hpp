#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/plan.hpp>

#include "engine/plan/table_origin.hpp"

namespace skyrank::exec {

/// The plans of queries over parts, as they ran. Plans that are alike are one, with the sums of what was measured.
/// Thread-safe.
class PartsRecord {
 public:
  /// Adds a part that took so many milliseconds, and the plan of what was done with it.
  void add(PlanNode plan, double ms);

  /// Returns the number of parts.
  std::size_t count() const;

  /// Describes the parts as a node whose children are their plans. Its time is the sum of the parts' times.
  PlanNode node(std::string detail) const;

 private:
  mutable std::mutex mutex_;
  std::vector<PlanNode> plans_;  // no two alike
  std::size_t count_ = 0;
  double ms_ = 0;  // sum
  double slowest_ms_ = 0;
};

/// Says how rows came about that parts leave, whose plans are the children of the node `parts`. The rules are those of
/// the parts, but for those that were decided for all of them; choices by price are those for all and of the first
/// part.
TableOrigin origin_of_parts(PlanNode parts, const std::vector<RuleOutcome>& decided,
                            const std::vector<PricedDecision>& decisions);

/// Returns the plan of a query over the rows that parts leave, before these are known. The answer is expected to be as
/// large as that of the first part.
PlanNode plan_of_merge(std::string detail, TableOrigin origin);

}  // namespace skyrank::exec
