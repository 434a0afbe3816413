#include "engine/query/bind/key_names.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace skyrank::query {
namespace {

NodePtr column_of(const Node& node, const GroupKey& key) {
  Node column;
  column.op = Op::column;
  column.name = key.name;
  column.line = node.line;
  column.column = node.column;
  return std::make_shared<const Node>(std::move(column));
}

}  // namespace

KeyNames::KeyNames(const std::vector<GroupKey>& keys) {
  std::set<std::string_view> columns;
  for (const GroupKey& key : keys) {
    if (key.is_column()) columns.insert(key.name);
  }
  for (const GroupKey& key : keys) {
    if (key.is_column() || columns.contains(key.expression.column_name())) continue;
    keys_[replaced(root_of(key.expression)).hash].push_back(key);
  }
}

Expression KeyNames::of(const Expression& expression) const {
  if (keys_.empty()) return expression;
  const NodePtr root = replaced(root_of(expression)).node;
  return root == nullptr ? expression : make_expression(root, expression.location());
}

KeyNames::Replaced KeyNames::replaced(const Node& node) const {
  std::size_t hash =
      std::hash<std::string>()(node.op == Op::literal ? to_text(node) : node.name) + static_cast<std::size_t>(node.op);
  std::shared_ptr<Node> copy;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    Replaced child = replaced(*node.children[i]);
    hash = hash * 31 + child.hash;
    if (child.node == nullptr) continue;
    if (copy == nullptr) copy = std::make_shared<Node>(node);
    copy->children[i] = std::move(child.node);
  }
  const GroupKey* key = key_of(node, hash);
  return {key == nullptr ? copy : column_of(node, *key), hash};
}

const GroupKey* KeyNames::key_of(const Node& node, std::size_t hash) const {
  const auto alike = keys_.find(hash);
  if (alike == keys_.end()) return nullptr;
  const auto key =
      std::ranges::find_if(alike->second, [&](const GroupKey& one) { return equal(node, root_of(one.expression)); });
  return key == alike->second.end() ? nullptr : &*key;
}

}  // namespace skyrank::query
