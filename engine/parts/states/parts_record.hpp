#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/plan.hpp>

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

/// Returns the plan of a query over the rows that parts leave, before these are known. The answer is expected to be as
/// large as that of the first part.
PlanNode plan_of_merge(std::string detail, PlanNode parts);

/// Hangs the parts below the plan of what follows them, whose rows they leave. The rules are those of the parts.
void attach_parts(PlanNode& tree, PlanNode parts);

}  // namespace skyrank::exec
