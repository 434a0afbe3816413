#include "engine/plan/tree.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace skyrank::exec {
namespace {

std::string_view name_of(kernels::Device device) { return device == kernels::Device::cpu ? "cpu" : "cuda"; }

PlanNode node_of(const Operator& op) {
  PlanNode node;
  node.op = name_of(op.kind);
  node.detail = op.detail;
  node.reason = op.note;
  node.fallback = op.fallback;
  if (op.device) node.device = name_of(*op.device);
  node.predicted_rows = op.estimate.rows.expected;
  node.predicted_rows_low = op.estimate.rows.low;
  node.predicted_rows_high = op.estimate.rows.high;
  node.predicted_ms = op.estimate.ms;
  node.predicted_bytes = op.estimate.bytes;
  node.statistics = op.statistics;
  return node;
}

void add_path(PlanNode& node, const PathDescription& path) {
  node.algorithm = path.algorithm;
  node.device = name_of(path.device);
  node.reason = path.reason;
  node.guard = path.guard;
  node.predicted_ms = path.predicted_ms;
  node.predicted_bytes = path.predicted_bytes;
  node.parameters = path.parameters;
  node.alternatives = path.alternatives;
}

/// Adds the choice of an operator's algorithm, if its candidates are priced at high.
void add_decision(std::vector<PricedDecision>& decisions, const PlanNode& node, const PathDescription& path) {
  if (path.price.high == 0) return;
  PricedDecision& made = decisions.emplace_back(PricedDecision{node.op, {}});
  made.candidates.push_back(priced_candidate(path.algorithm, path.price, true));
  for (const Alternative& other : path.alternatives) {
    if (other.predicted_ms_high == 0) continue;
    made.candidates.push_back({other.algorithm, false, other.predicted_ms, other.predicted_ms_high});
  }
}

void add_metrics(PlanNode& node, const OperatorMetrics& metrics) {
  node.measured_rows = metrics.rows;
  node.measured_ms = metrics.ms;
  node.work = metrics.work;
  node.transferred = metrics.transferred;
  if (metrics.partitions) node.detail += " (" + std::to_string(*metrics.partitions) + " partitions)";
  if (!metrics.note.empty()) node.reason = metrics.note;
  if (metrics.path) add_path(node, *metrics.path);
}

void add_origin(PlanNode& scan, const TableOrigin& origin) {
  if (!origin.scan.empty()) scan.detail = origin.scan;
  scan.predicted_ms += origin.predicted_ms;
  scan.statistics.insert(scan.statistics.end(), origin.statistics.begin(), origin.statistics.end());
  if (origin.parts) scan.children.push_back(*origin.parts);
}

PlanNode tree_of(const PhysicalPlan& plan, const RunRecord* record) {
  const TableOrigin* const origin = (record != nullptr ? record->origin : plan.origin).get();
  const RuleLog& rules = record != nullptr ? record->rules : plan.rules;
  const bool lists = plan.constraints.lists_candidates;
  std::vector<PricedDecision> decisions = rules.decisions();
  PlanNode root;
  for (const Operator* op : pipeline(plan, record != nullptr && record->fell_back)) {
    PlanNode node = node_of(*op);
    if (op->path) add_path(node, *op->path);
    const OperatorMetrics* const metrics = record != nullptr ? record->find(*op) : nullptr;
    if (metrics != nullptr) add_metrics(node, *metrics);
    const std::optional<PathDescription>& path = metrics != nullptr && metrics->path ? metrics->path : op->path;
    if (lists && path) add_decision(decisions, node, *path);
    if (op->kind != OperatorKind::scan) {
      node.children.push_back(std::move(root));
    } else if (origin != nullptr) {
      add_origin(node, *origin);
    }
    root = std::move(node);
  }
  root.rules = rules.outcomes();
  if (origin != nullptr) {
    root.rules = with_decided(std::move(root.rules), origin->rules);
    decisions.insert(decisions.end(), origin->decisions.begin(), origin->decisions.end());
  }
  root.decisions = std::move(decisions);
  return root;
}

}  // namespace

std::vector<const Operator*> pipeline(const PhysicalPlan& plan, bool fell_back) {
  return plan.operators.in_order(fell_back);
}

std::vector<RuleOutcome> with_decided(std::vector<RuleOutcome> outcomes, const std::vector<RuleOutcome>& decided) {
  for (const RuleOutcome& one : decided) {
    const auto same = std::ranges::find(outcomes, one.rule, &RuleOutcome::rule);
    if (same != outcomes.end()) *same = one;
  }
  return outcomes;
}

double predicted_bytes(const Operator& op) { return op.path ? op.path->predicted_bytes : op.estimate.bytes; }

PlanNode tree(const PhysicalPlan& plan) { return tree_of(plan, nullptr); }

PlanNode tree(const PhysicalPlan& plan, const RunRecord& record) { return tree_of(plan, &record); }

}  // namespace skyrank::exec
