#include "engine/plan/tree.hpp"

#include <utility>

namespace skyrank::exec {

PlanNode tree(Operators operators, const RuleLog& rules) {
  PlanNode root = std::move(operators.scan);
  const auto add = [&](PlanNode node) {
    node.children.push_back(std::move(root));
    root = std::move(node);
  };
  const auto add_if = [&](std::optional<PlanNode>& node) {
    if (node) add(std::move(*node));
  };
  if (!operators.filter_last) add_if(operators.skyline_prefix ? operators.skyline_prefix : operators.filter);
  add_if(operators.group);
  add_if(operators.missing);
  add_if(operators.partition);
  add_if(operators.skyline_keys);
  for (PlanNode& step : operators.skyline) add(std::move(step));
  if (operators.filter_last) add_if(operators.filter);
  add_if(operators.rank_keys);
  add_if(operators.order);
  add(std::move(operators.gather));
  root.rules = rules.outcomes();
  return root;
}

}  // namespace skyrank::exec
