#include "engine/query/written_names.hpp"

#include <cstddef>
#include <memory>
#include <unordered_set>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/query/check.hpp"
#include "engine/query/sql_words.hpp"
#include "engine/text.hpp"

namespace skyrank::query {
namespace {

/// Returns true for "a +" and "(a" where the parser misses something at the end, but not for "50%".
bool is_cut_short(std::string_view text, const QueryError& error, const PlaceFunction& place) {
  const Location end = place(text.size());
  if (error.location().line != end.line || error.location().column != end.column || text.empty()) return text.empty();
  const bool ends_with_word = is_word_character(text.back());
  return ends_with_word || text.size() < 2 || is_blank(text[text.size() - 2]);
}

/// Returns a node with columns in place of the texts that name them; null where there is none.
NodePtr named_node(const Node& node, const Location& place, const NameTest& is_column) {
  if (node.op == Op::column) return nullptr;
  if (!node.written.empty() && is_column(node.written)) {
    Node column = root_of(Expression::column(node.written));
    column.at_corner = node.at_corner;
    column.line = place.line;
    column.column = place.column;
    return std::make_shared<const Node>(std::move(column));
  }
  std::shared_ptr<Node> copy;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    NodePtr child = named_node(*node.children[i], place, is_column);
    if (child == nullptr) continue;
    if (copy == nullptr) copy = std::make_shared<Node>(node);
    copy->children[i] = std::move(child);
  }
  return copy;
}

}  // namespace

NodePtr parse_written(std::string_view text, const PlaceFunction& place) {
  NodePtr root = parse_expression(text, place);
  if (root->op == Op::column) return root;
  Node kept = *root;
  kept.written = text;
  return std::make_shared<const Node>(std::move(kept));
}

NodePtr parse_name_or_expression(std::string_view text, const PlaceFunction& place) {
  try {
    return parse_written(text, place);
  } catch (const QueryError& error) {
    if (is_cut_short(text, error, place)) throw;
    Node column = root_of(Expression::column(text));
    const Location start = place(0);
    column.line = start.line;
    column.column = start.column;
    column.unreadable = std::make_shared<const QueryError>(error);
    return std::make_shared<const Node>(std::move(column));
  }
}

NameTest names_of(const Table& table) {
  return [&table, known = std::unordered_set<std::string_view>()](const std::string& name) mutable {
    if (known.empty()) {
      for (const Column& column : table.columns()) known.insert(column.name());
      for (const UnsupportedColumn& column : table.unsupported()) known.insert(column.name);
    }
    return known.contains(name);
  };
}

NameTest names_of(const std::vector<std::string>& names, const std::vector<UnsupportedColumn>& unsupported) {
  std::unordered_set<std::string> known(names.begin(), names.end());
  for (const UnsupportedColumn& column : unsupported) known.insert(column.name);
  return [known = std::move(known)](const std::string& name) { return known.contains(name); };
}

Expression named(const Expression& expression, const NameTest& is_column) {
  NodePtr root = named_node(root_of(expression), expression.location(), is_column);
  return root == nullptr ? expression : make_expression(std::move(root), expression.location());
}

GroupKey named(const GroupKey& key, const NameTest& is_column) {
  const bool has_name = key.name != output_name(key.expression);
  Expression expression = named(key.expression, is_column);
  return has_name ? GroupKey(key.name, std::move(expression)) : GroupKey(std::move(expression));
}

const std::vector<GroupKey>& keys_of_table(const Query& query) {
  return query.group_by().empty() ? query.partition_by() : query.group_by();
}

std::vector<GroupKey> named_keys(const Query& query, const NameTest& is_column) {
  std::vector<GroupKey> keys;
  for (const GroupKey& key : keys_of_table(query)) keys.push_back(named(key, is_column));
  return keys;
}

}  // namespace skyrank::query
