#include "engine/query/bind/keys.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/query/ast.hpp"
#include "engine/query/bind/binding.hpp"
#include "engine/query/check.hpp"
#include "engine/text.hpp"

namespace skyrank::query {
namespace {

bool needs_column(const GroupKey& key) { return !key.is_column(); }

/// Returns true if a key has a name that is not its text.
bool is_named(const GroupKey& key) { return key.name != output_name(key.expression); }

const std::vector<GroupKey>& keys_of_table(const Query& query) {
  return query.group_by().empty() ? query.partition_by() : query.group_by();
}

/// The keys that are to become columns of the table.
std::vector<GroupKey> key_expressions(const Query& query) {
  std::vector<GroupKey> found;
  std::ranges::copy_if(keys_of_table(query), std::back_inserter(found), needs_column);
  return found;
}

/// The keys as columns, once they are some.
std::vector<GroupKey> columns_of(const std::vector<GroupKey>& keys) {
  std::vector<GroupKey> columns;
  for (const GroupKey& key : keys) {
    const auto root = std::make_shared<const Node>(root_of(Expression::column(key.name)));
    columns.push_back(key.is_column() ? key : make_expression(root, key.expression.location()));
  }
  return columns;
}

/// Replaces expressions that equal a key by the key's column.
class KeyNames {
 public:
  /// A column that is a key itself means itself, whatever other names it has.
  explicit KeyNames(const std::vector<GroupKey>& keys) {
    std::set<std::string_view> columns;
    for (const GroupKey& key : keys) {
      if (key.is_column()) columns.insert(key.name);
    }
    for (const GroupKey& key : keys) {
      if (!needs_column(key) || columns.contains(key.expression.column_name())) continue;
      keys_[replaced(root_of(key.expression)).hash].push_back(key);
    }
  }

  Expression of(const Expression& expression) const {
    const NodePtr root = replaced(root_of(expression)).node;
    return root == nullptr ? expression : make_expression(root, expression.location());
  }

  std::vector<GroupKey> of(std::vector<GroupKey> keys) const {
    for (GroupKey& key : keys) {
      Expression expression = of(key.expression);
      key = is_named(key) ? GroupKey(key.name, std::move(expression)) : GroupKey(std::move(expression));
    }
    return keys;
  }

  Preference of(Preference preference) const {
    if (preference.expression) preference.expression = of(*preference.expression);
    for (Preference& child : preference.children) child = of(std::move(child));
    return preference;
  }

 private:
  /// An expression with columns in place of keys, null where nothing is to be replaced, and the hash of what it was:
  /// all keys are found in one walk, however many there are.
  struct Replaced {
    NodePtr node;
    std::size_t hash = 0;
  };

  Replaced replaced(const Node& node) const {
    std::size_t hash = std::hash<std::string>()(node.op == Op::literal ? to_text(node) : node.name) +
                       static_cast<std::size_t>(node.op);
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

  const GroupKey* key_of(const Node& node, std::size_t hash) const {
    const auto alike = keys_.find(hash);
    if (alike == keys_.end()) return nullptr;
    const auto key =
        std::ranges::find_if(alike->second, [&](const GroupKey& one) { return equal(node, root_of(one.expression)); });
    return key == alike->second.end() ? nullptr : &*key;
  }

  static NodePtr column_of(const Node& node, const GroupKey& key) {
    Node column;
    column.op = Op::column;
    column.name = key.name;
    column.line = node.line;
    column.column = node.column;
    return std::make_shared<const Node>(std::move(column));
  }

  std::unordered_map<std::size_t, std::vector<GroupKey>> keys_;  // by the hashes of their expressions
};

/// Returns what a query without `select` shows: the row, all columns but those of the keys, and the keys with names.
std::vector<SelectItem> selection_with_keys(const Table& table, const std::vector<GroupKey>& keys) {
  std::set<std::string_view> of_keys;
  for (const GroupKey& key : keys) of_keys.insert(key.name);
  std::vector<std::string> shown;
  for (const Column& column : table.columns()) {
    if (!of_keys.contains(column.name())) shown.push_back(column.name());
  }
  for (const GroupKey& key : keys) {
    if (is_named(key)) shown.push_back(key.name);
  }
  const auto is_shown = [&](const std::string& name) { return std::ranges::find(shown, name) != shown.end(); };
  const std::string row = is_shown("row") ? "row()" : "row";
  std::vector<SelectItem> items;
  if (!is_shown(row)) items.push_back({row, Expression(row)});
  for (const std::string& name : shown) items.push_back({name, Expression::column(name)});
  return items;
}

/// Names the keys of the groups in the clauses that see the groups.
void name_keys_of_groups(const Query& query, Query& named) {
  const KeyNames names(query.group_by());
  named.group_by(columns_of(query.group_by())).partition_by(names.of(query.partition_by()));
  for (const GroupKey& key : named.partition_by()) {
    if (key.is_column()) continue;
    const std::string_view column = key.expression.column_name();
    if (!column.empty()) {
      throw BindError("'partition_by' takes columns of the groups by their names, not the column " +
                          std::string(column) + " as " + key.name + "; name it in 'group_by'",
                      key.expression.location());
    }
    throw BindError("'partition_by' takes columns of the groups, not the expression " + key.expression.text() +
                        "; add it to 'group_by'",
                    key.expression.location());
  }
  if (query.having()) named.having(names.of(*query.having()));
  if (query.prefer()) named.prefer(names.of(*query.prefer()));
  std::vector<RankTerm> ranking;
  for (const RankTerm& term : query.rank_by()) ranking.emplace_back(names.of(term.expression), term.high);
  if (!ranking.empty()) named.rank_by(std::move(ranking));
  std::vector<SelectItem> items = query.select();
  for (SelectItem& item : items) item.expression = names.of(item.expression);
  named.select(std::move(items));
}

void check_name(const GroupKey& key, const Table& table, const SchemaPlaces& places) {
  const bool unsupported =
      std::ranges::find(table.unsupported(), key.name, &UnsupportedColumn::name) != table.unsupported().end();
  if (!places.find(key.name) && !unsupported) return;
  if (is_named(key)) {
    throw BindError("the table has a column " + in_quotes(key.name) + " already; name the key " +
                        key.expression.text() + " otherwise",
                    key.expression.location());
  }
  throw BindError("the table has a column named like the key " + key.name +
                      "; put the name in backquotes to mean the column, or rename it",
                  key.expression.location());
}

std::vector<BoundKey> bind_keys(const Query& query, const Table& table, const Schema& schema) {
  const SchemaPlaces places(schema);
  if (query.where()) bind_expression(*query.where(), places);  // whose mistakes are reported first
  std::vector<BoundKey> bound;
  for (const GroupKey& key : key_expressions(query)) {
    check_name(key, table, places);
    bound.push_back({key.name, bind_expression(key.expression, places)});
  }
  return bound;
}

}  // namespace

bool has_key_expressions(const Query& query) {
  return std::ranges::any_of(query.group_by(), needs_column) || std::ranges::any_of(query.partition_by(), needs_column);
}

Query with_key_names(const Query& query, const Table& table) {
  query.validate();
  if (!has_key_expressions(query)) return query;
  Query named = query;
  if (!query.group_by().empty()) {
    name_keys_of_groups(query, named);
    return named;
  }
  named.partition_by(columns_of(query.partition_by()));
  if (query.select().empty()) named.select(selection_with_keys(table, key_expressions(query)));
  return named;
}

KeyedQuery bind_with_keys(const Query& query, const Table& table) {
  Schema schema = schema_of(table);
  if (!has_key_expressions(query)) {
    refuse_unsupported(query, table.unsupported());
    return {bind(query, schema), {}};
  }
  const Query named = with_key_names(query, table);
  refuse_unsupported(query, table.unsupported());
  std::vector<BoundKey> keys = bind_keys(query, table, schema);
  // Values of an expression have the type that it is evaluated in, those of plain columns too.
  for (const BoundKey& key : keys) schema.fields.push_back({key.name, key.value.root->type});
  return {bind(named, schema), std::move(keys)};
}

}  // namespace skyrank::query
