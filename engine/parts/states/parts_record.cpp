#include "engine/parts/states/parts_record.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace skyrank::exec {
namespace {

bool alike(const PlanNode& a, const PlanNode& b) {
  return a.op == b.op && a.algorithm == b.algorithm && a.device == b.device &&
         std::ranges::equal(a.children, b.children, alike);
}

template <class T>
void add(const std::optional<T>& more, std::optional<T>& sum) {
  if (more) sum = sum.value_or(T{}) + *more;
}

void add_rows(const PlanNode& more, PlanNode& sum) {
  sum.predicted_rows += more.predicted_rows;
  sum.predicted_rows_low += more.predicted_rows_low;
  sum.predicted_rows_high += more.predicted_rows_high;
}

/// Adds what another node of the same shape expected and measured.
void add(const PlanNode& more, PlanNode& sum) {
  add_rows(more, sum);
  sum.predicted_ms += more.predicted_ms;
  sum.predicted_bytes = std::max(sum.predicted_bytes, more.predicted_bytes);
  add(more.measured_rows, sum.measured_rows);
  add(more.measured_ms, sum.measured_ms);
  if (more.guard.size() > sum.guard.size()) sum.guard = more.guard;  // one that struck tells more
  if (more.work) (sum.work ? *sum.work : sum.work.emplace()) += *more.work;
  if (more.transferred) {
    Transferred& bytes = sum.transferred ? *sum.transferred : sum.transferred.emplace();
    bytes.to_device += more.transferred->to_device;
    bytes.from_device += more.transferred->from_device;
  }
  for (std::size_t i = 0; i < sum.children.size(); ++i) add(more.children[i], sum.children[i]);
}

}  // namespace

void PartsRecord::add(PlanNode plan, double ms) {
  const std::scoped_lock lock(mutex_);
  ++count_;
  ms_ += ms;
  slowest_ms_ = std::max(slowest_ms_, ms);
  const auto found = std::ranges::find_if(plans_, [&](const PlanNode& other) { return alike(other, plan); });
  if (found == plans_.end()) {
    plans_.push_back(std::move(plan));
  } else {
    exec::add(plan, *found);
  }
}

std::size_t PartsRecord::count() const {
  const std::scoped_lock lock(mutex_);
  return count_;
}

PlanNode PartsRecord::node(std::string detail) const {
  const std::scoped_lock lock(mutex_);
  PlanNode node;
  node.op = "parts";
  node.detail = std::move(detail);
  node.statistics = {{"parts", static_cast<double>(count_)}, {"ms of the slowest", slowest_ms_}};
  node.measured_ms = ms_;
  for (const PlanNode& plan : plans_) {
    add_rows(plan, node);
    exec::add(plan.measured_rows, node.measured_rows);
  }
  node.children = plans_;
  return node;
}

TableOrigin origin_of_parts(PlanNode parts, const std::vector<RuleOutcome>& decided,
                            const std::vector<PricedDecision>& decisions) {
  TableOrigin origin{.rules = decided, .decisions = decisions};
  if (!parts.children.empty() && !parts.children.front().rules.empty()) {
    origin.rules = with_decided(parts.children.front().rules, decided);
  }
  if (!parts.children.empty()) {
    for (PricedDecision& made : parts.children.front().decisions) {
      made.subject += " of a part";
      origin.decisions.push_back(std::move(made));
    }
  }
  for (PlanNode& plan : parts.children) {
    plan.rules.clear();
    plan.decisions.clear();
  }
  origin.parts = std::move(parts);
  return origin;
}

PlanNode plan_of_merge(std::string detail, TableOrigin origin) {
  PlanNode tree;
  tree.op = "merge";
  tree.detail = std::move(detail);
  const PlanNode& part = origin.parts->children.front();
  tree.predicted_rows = part.predicted_rows;
  tree.predicted_rows_low = std::min(part.predicted_rows_low, 1.0);  // parts may have the same groups
  tree.predicted_rows_high = std::max(part.predicted_rows_high, origin.parts->predicted_rows_high);
  tree.rules = std::move(origin.rules);
  tree.decisions = std::move(origin.decisions);
  tree.children.push_back(*std::move(origin.parts));
  return tree;
}

}  // namespace skyrank::exec
