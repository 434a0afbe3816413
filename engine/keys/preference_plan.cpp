#include "engine/keys/preference_plan.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <skyrank/error.hpp>

namespace skyrank::exec {
namespace {

using NodeKind = kernels::OrderNode::Kind;
using query::BoundPreference;

/// An order tree whose leaves are keys.
struct Tree {
  NodeKind kind = NodeKind::key;
  KeyTerms key;
  std::vector<Tree> children;
};

bool is_key(const Tree& tree) { return tree.kind == NodeKind::key; }
bool all_keys(const std::vector<Tree>& trees) { return std::all_of(trees.begin(), trees.end(), is_key); }

void append(std::vector<Tree>& trees, std::vector<Tree> more) {
  std::move(more.begin(), more.end(), std::back_inserter(trees));
}

Tree prior_key(const KeyTerms& first, const KeyTerms& then) {
  Tree key{NodeKind::key, first, {}};
  key.key.insert(key.key.end(), then.begin(), then.end());
  return key;
}

class Reducer {
 public:
  explicit Reducer(std::vector<BoundPreference>& terms) : terms_(terms) {}

  Tree reduce(const BoundPreference& preference) {
    switch (preference.kind) {
      case Preference::Kind::pareto: return pareto(preference);
      case Preference::Kind::prior: return prior(preference);
      default: terms_.push_back(preference); return {NodeKind::key, {terms_.size() - 1}, {}};
    }
  }

  /// The parts of a prior, neighbouring keys made one.
  std::vector<Tree> prior_parts(const BoundPreference& preference) {
    std::vector<Tree> parts;
    for (const BoundPreference& child : preference.children) {
      Tree part = reduce(child);
      if (!parts.empty() && is_key(parts.back()) && is_key(part)) {
        KeyTerms& key = parts.back().key;
        key.insert(key.end(), part.key.begin(), part.key.end());
      } else {
        parts.push_back(std::move(part));
      }
    }
    return parts;
  }

 private:
  Tree pareto(const BoundPreference& preference) {
    Tree tree{NodeKind::pareto, {}, {}};
    for (const BoundPreference& child : preference.children) {
      Tree part = reduce(child);
      if (part.kind == NodeKind::pareto) {
        append(tree.children, std::move(part.children));
      } else {
        tree.children.push_back(std::move(part));
      }
    }
    return tree;
  }

  Tree prior(const BoundPreference& preference) {
    std::vector<Tree> parts = prior_parts(preference);
    if (parts.size() == 1) return std::move(parts.front());
    // A total order before a Pareto term decides for each of its keys alike, so it can be part of each.
    const bool distributes =
        parts.size() == 2 && is_key(parts[0]) && parts[1].kind == NodeKind::pareto && all_keys(parts[1].children);
    if (!distributes) return {NodeKind::prior, {}, std::move(parts)};
    Tree tree = std::move(parts[1]);
    for (Tree& child : tree.children) child = prior_key(parts[0].key, child.key);
    return tree;
  }

  std::vector<BoundPreference>& terms_;
};

/// Lays a tree out breadth first, so that children are consecutive, as kernels require.
SkylineStep lay_out(const Tree& tree) {
  SkylineStep step;
  std::vector<const Tree*> queue{&tree};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const Tree& node = *queue[i];
    if (is_key(node)) {
      step.order.push_back({NodeKind::key, static_cast<std::uint32_t>(step.keys.size()), 0});
      step.keys.push_back(node.key);
      continue;
    }
    step.order.push_back(
        {node.kind, static_cast<std::uint32_t>(queue.size()), static_cast<std::uint32_t>(node.children.size())});
    for (const Tree& child : node.children) queue.push_back(&child);
  }
  const bool flat = is_key(tree) || (tree.kind == NodeKind::pareto && all_keys(tree.children));
  if (flat) step.order.clear();
  return step;
}

void check_dimensions(const PreferencePlan& plan) {
  for (const SkylineStep& step : plan.steps) {
    if (step.keys.size() <= kernels::kMaxDims) continue;
    throw BindError("a preference of " + std::to_string(step.keys.size()) + " dimensions; at most " +
                        std::to_string(kernels::kMaxDims) + " can be compared",
                    plan.terms[step.keys[kernels::kMaxDims].front()].expression.location);
  }
}

std::string describe(const BoundPreference& term) {
  const std::string text = term.expression.text + (term.nulls_first ? " (NULL first)" : "");
  const std::string prefix = term.inverted ? "inverse " : "";
  switch (term.kind) {
    case Preference::Kind::low: return prefix + "low " + text;
    case Preference::Kind::high: return prefix + "high " + text;
    case Preference::Kind::around: return prefix + "around " + text + " to " + to_string(term.target);
    case Preference::Kind::between:
      return prefix + "between " + text + " from " + to_string(term.target) + " to " + to_string(term.upper);
    case Preference::Kind::in: return prefix + "in " + text;
    default: return prefix + "where " + text;
  }
}

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string describe(const PreferencePlan& plan, const KeyTerms& key) {
  std::vector<std::string> parts;
  for (const std::size_t term : key) parts.push_back(describe(plan.terms[term]));
  return parts.size() == 1 ? parts.front() : "prior(" + join(parts) + ")";
}

std::string describe(const PreferencePlan& plan, const SkylineStep& step, const kernels::OrderNode& node) {
  if (node.kind == NodeKind::key) return describe(plan, step.keys[node.first]);
  std::vector<std::string> parts;
  for (std::uint32_t i = 0; i < node.count; ++i) parts.push_back(describe(plan, step, step.order[node.first + i]));
  return (node.kind == NodeKind::prior ? "prior(" : "pareto(") + join(parts) + ")";
}

}  // namespace

PreferencePlan plan_preference(const BoundPreference& preference) {
  PreferencePlan plan;
  Reducer reducer(plan.terms);
  if (preference.kind == Preference::Kind::prior) {
    for (const Tree& part : reducer.prior_parts(preference)) plan.steps.push_back(lay_out(part));
  } else {
    plan.steps.push_back(lay_out(reducer.reduce(preference)));
  }
  check_dimensions(plan);
  return plan;
}

std::string describe(const PreferencePlan& plan, const SkylineStep& step) {
  if (!step.order.empty()) return describe(plan, step, step.order.front());
  std::vector<std::string> parts;
  for (const KeyTerms& key : step.keys) parts.push_back(describe(plan, key));
  return join(parts);
}

}  // namespace skyrank::exec
