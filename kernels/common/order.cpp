#include "kernels/common/order.hpp"

#include <stdexcept>

namespace skyrank::kernels {
namespace {

/// Indices of all nodes, every parent before its children.
std::vector<std::size_t> parents_first(std::span<const OrderNode> nodes) {
  if (nodes.empty()) throw std::invalid_argument("an order tree needs a root");
  std::vector<std::size_t> found{0};
  for (std::size_t next = 0; next < found.size(); ++next) {
    const OrderNode& node = nodes[found[next]];
    if (node.kind == OrderNode::Kind::key) continue;
    if (node.count == 0) throw std::invalid_argument("an inner node of an order tree needs children");
    for (std::size_t child = node.first; child < std::size_t{node.first} + node.count; ++child) {
      found.push_back(child);
      // More visits than nodes: a child with two parents, or a cycle.
      if (child >= nodes.size() || found.size() > nodes.size()) throw std::invalid_argument("an order is not a tree");
    }
  }
  return found;
}

}  // namespace

Order::Order(std::span<const OrderNode> nodes, std::size_t d) : d_(d) {
  const std::vector<std::size_t> order = parents_first(nodes);
  std::vector<std::uint64_t> leaves_below(nodes.size(), 0);
  for (std::size_t i = order.size(); i-- > 0;) {
    const OrderNode& node = nodes[order[i]];
    if (node.kind == OrderNode::Kind::key) {
      if (node.first >= d) throw std::invalid_argument("an order tree names a column that the problem does not have");
      if (columns_.size() == kMaxDims) throw std::invalid_argument("an order tree has more than 64 leaves");
      leaves_below[order[i]] = std::uint64_t{1} << columns_.size();
      columns_.push_back(node.first);
      continue;
    }
    std::uint64_t later = 0;
    for (std::size_t child = node.first + node.count; child-- > node.first;) {
      if (node.kind == OrderNode::Kind::prior && later != 0) rules_.push_back({leaves_below[child], later});
      later |= leaves_below[child];
    }
    leaves_below[order[i]] = later;
  }
}

std::vector<std::uint32_t> columns_from_left(std::span<const OrderNode> nodes) {
  std::vector<std::uint32_t> columns;
  std::vector<std::uint32_t> open{0};
  while (!open.empty()) {
    const OrderNode& node = nodes[open.back()];
    open.pop_back();
    if (node.kind == OrderNode::Kind::key) {
      columns.push_back(node.first);
      continue;
    }
    for (std::uint32_t child = node.first + node.count; child-- > node.first;) open.push_back(child);
  }
  return columns;
}

bool Order::is_flat_pareto() const {
  std::uint64_t covered = 0;
  for (const std::uint32_t column : columns_) covered |= std::uint64_t{1} << column;
  return rules_.empty() && static_cast<std::size_t>(std::popcount(covered)) == d_;
}

}  // namespace skyrank::kernels
