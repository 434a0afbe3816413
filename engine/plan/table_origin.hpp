#pragma once

#include <optional>
#include <string>
#include <vector>

#include <skyrank/plan.hpp>

namespace skyrank::exec {

/// Names and values of statistics that a node shows.
using NodeStatistics = decltype(PlanNode::statistics);

/// Says how a table came about that is not the caller's: what a plan over it shows at its scan and below.
struct TableOrigin {
  std::string scan = {};                ///< names of the columns that were read; empty: those that the plan reads
  NodeStatistics statistics = {};       ///< statistics of the scan
  double predicted_ms = 0;              ///< expected time of reading the table
  std::vector<RuleOutcome> rules = {};  ///< outcomes of the rules that were decided before the table was there
  std::vector<PricedDecision> decisions = {};  ///< choices by price that were made before, and those of a part
  std::optional<PlanNode> parts = {};          ///< the parts of the input that left the table's rows
};

/// Returns outcomes of rules, of which those that were decided before stand for themselves.
std::vector<RuleOutcome> with_decided(std::vector<RuleOutcome> outcomes, const std::vector<RuleOutcome>& decided);

}  // namespace skyrank::exec
