#include "engine/executor/key_expressions.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/expression/evaluate.hpp"
#include "engine/expression/patterns.hpp"
#include "engine/placeholder_column.hpp"
#include "engine/query/ast.hpp"
#include "engine/query/bind/binding.hpp"
#include "engine/query/bound.hpp"
#include "engine/query/check.hpp"
#include "engine/row_error.hpp"
#include "engine/text.hpp"

namespace skyrank::exec {

using query::Node;
using query::NodePtr;
using query::Op;

namespace {

bool needs_column(const GroupKey& key) { return !key.is_column(); }

/// Returns true if a key has a name that is not its text.
bool is_named(const GroupKey& key) { return key.name != query::output_name(key.expression); }

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
    const auto root = std::make_shared<const Node>(query::root_of(Expression::column(key.name)));
    columns.push_back(key.is_column() ? key : query::make_expression(root, key.expression.location()));
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
      keys_[replaced(query::root_of(key.expression)).hash].push_back(key);
    }
  }

  Expression of(const Expression& expression) const {
    const NodePtr root = replaced(query::root_of(expression)).node;
    return root == nullptr ? expression : query::make_expression(root, expression.location());
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
    std::size_t hash = std::hash<std::string>()(node.op == Op::literal ? query::to_text(node) : node.name) +
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
    const auto key = std::ranges::find_if(
        alike->second, [&](const GroupKey& one) { return query::equal(node, query::root_of(one.expression)); });
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
std::vector<SelectItem> default_selection(const std::vector<std::string>& columns, const std::vector<GroupKey>& keys) {
  std::set<std::string_view> of_keys;
  for (const GroupKey& key : keys) of_keys.insert(key.name);
  std::vector<std::string> shown;
  std::ranges::copy_if(columns, std::back_inserter(shown),
                       [&](const std::string& name) { return !of_keys.contains(name); });
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

std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const Column& column : table.columns()) names.push_back(column.name());
  return names;
}

/// The keys of a query over a table or a source of a schema.
class KeyColumns {
 public:
  KeyColumns(const Query& query, const Table& schema)
      : keys_(key_expressions(query)), named_(with_key_names(query, schema)) {
    query::refuse_unsupported(query, schema.unsupported());
    query::Schema fields = query::schema_of(schema);
    bind_keys(query, schema, fields);
    for (std::size_t i = 0; i < size(); ++i) fields.fields.push_back({name(i), type(i)});
    query::bind(named_, fields);  // so that mistakes in the query are reported before rows that fail
  }

  const Query& query() const { return named_; }
  std::size_t size() const { return bound_.size(); }
  const std::string& name(std::size_t i) const { return keys_[i].name; }
  DataType type(std::size_t i) const { return bound_[i].root->type; }  // what evaluate() gives, of plain columns too

  /// Values of a key for the rows of a table that pass the condition; others may be NULL.
  Column evaluate(std::size_t i, const Table& table) const {
    const Rows rows{table.num_rows(), nullptr};
    query::BoundExpression key = bound_[i];
    if (needs_condition(i)) {
      filter(*condition_, table, rows);  // an error of the condition is its own
      query::BoundNode guarded;
      guarded.op = Op::case_when;
      guarded.type = key.root->type;
      guarded.children = {condition_->root, key.root};
      key.root = std::make_shared<const query::BoundNode>(std::move(guarded));
    }
    return evaluate_all(key, table, rows, name(i));
  }

  /// Adds the columns that a key is evaluated from.
  void add_inputs(std::size_t i, std::set<int>& columns) const {
    add_columns(bound_[i], columns);
    if (needs_condition(i)) add_columns(*condition_, columns);
  }

 private:
  void bind_keys(const Query& query, const Table& schema, const query::Schema& fields) {
    const query::SchemaPlaces places(fields);
    if (query.where()) condition_ = query::bind_expression(*query.where(), places);
    for (const GroupKey& key : keys_) {
      check_name(key, schema, places);
      bound_.push_back(query::bind_expression(key.expression, places));
    }
  }

  static void check_name(const GroupKey& key, const Table& schema, const query::SchemaPlaces& places) {
    const bool unsupported =
        std::ranges::find(schema.unsupported(), key.name, &UnsupportedColumn::name) != schema.unsupported().end();
    if (!places.find(key.name) && !unsupported) return;
    if (is_named(key)) {
      throw BindError("the table has a column " + query::in_quotes(key.name) + " already; name the key " +
                          key.expression.text() + " otherwise",
                      key.expression.location());
    }
    throw BindError("the table has a column named like the key " + key.name +
                        "; put the name in backquotes to mean the column, or rename it",
                    key.expression.location());
  }

  /// A key must not fail for rows that the condition leaves out.
  bool needs_condition(std::size_t i) const { return condition_ && !never_fails(bound_[i]); }

  static void add_columns(const query::BoundExpression& expression, std::set<int>& columns) {
    const Ir ir = lower(*expression.root);
    for (const Operation& operation : ir.operations()) {
      if (operation.op == Op::column) columns.insert(operation.column);
    }
  }

  std::vector<GroupKey> keys_;
  Query named_;
  std::optional<query::BoundExpression> condition_;
  std::vector<query::BoundExpression> bound_;
};

/// A source with the keys as columns behind its own.
class SourceWithKeys final : public Source {
 public:
  SourceWithKeys(const Source& base, KeyColumns keys)
      : base_(base), keys_(std::move(keys)), own_columns_(base.schema().num_columns()) {
    std::vector<Column> columns = base.schema().columns();
    for (std::size_t i = 0; i < keys_.size(); ++i) columns.push_back(absent(i, 0));
    schema_ = Table(std::move(columns)).with_unsupported(base.schema().unsupported());
  }

  const Query& query() const { return keys_.query(); }
  const Table& schema() const override { return schema_; }
  const std::vector<SourceUnit>& units() const override { return base_.units(); }
  std::uint64_t bytes() const override { return base_.bytes(); }
  std::optional<UnitStatistics> statistics(int column) const override {
    return column < own_columns_ ? base_.statistics(column) : std::nullopt;
  }
  std::optional<ReadCost> read_cost(int column) const override {
    return column < own_columns_ ? base_.read_cost(column) : std::nullopt;
  }
  bool has_codes(int column) const override { return column < own_columns_ && base_.has_codes(column); }
  std::optional<UnitCodes> codes(std::size_t unit, int column) const override {
    return column < own_columns_ ? base_.codes(unit, column) : std::nullopt;
  }

  SourceRows read(std::span<const std::size_t> units, std::span<const int> columns) const override {
    return with_keys(base_.read(units, inputs(columns)), columns, [&](RowId row) { return row_of(units, row); });
  }

  SourceRows read_rows(std::span<const RowId> rows, std::span<const int> columns) const override {
    return with_keys(base_.read_rows(rows, inputs(columns)), columns,
                     [&](RowId row) { return rows[static_cast<std::size_t>(row)]; });
  }

 private:
  Column absent(std::size_t key, std::int64_t rows) const {
    return placeholder_column(keys_.name(key), keys_.type(key), rows);
  }

  bool is_asked_for(std::size_t key, const std::set<int>& columns) const {
    return columns.contains(own_columns_ + static_cast<int>(key));
  }

  /// The columns of the base from which some columns can be made.
  std::vector<int> inputs(std::span<const int> columns) const {
    const std::set<int> asked(columns.begin(), columns.end());
    std::set<int> needed(asked.begin(), asked.lower_bound(own_columns_));
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (is_asked_for(i, asked)) keys_.add_inputs(i, needed);
    }
    return {needed.begin(), needed.end()};
  }

  /// The row of the source that is a row of some units.
  RowId row_of(std::span<const std::size_t> units, RowId row) const {
    RowId first = 0;
    std::size_t next = 0;
    for (std::size_t unit = 0; unit < this->units().size() && next < units.size(); ++unit) {
      const std::int64_t rows = this->units()[unit].rows;
      if (units[next] == unit) {
        if (row < rows) return first + row;
        row -= rows;
        ++next;
      }
      first += rows;
    }
    return first + row;
  }

  template <class Global>
  SourceRows with_keys(SourceRows read, std::span<const int> columns, const Global& global) const {
    const std::set<int> asked(columns.begin(), columns.end());
    std::vector<Column> all = read.table.columns();
    try {
      for (std::size_t i = 0; i < keys_.size(); ++i) {
        all.push_back(is_asked_for(i, asked) ? keys_.evaluate(i, read.table) : absent(i, read.table.num_rows()));
      }
    } catch (const RowError& error) {
      throw error.renumbered(global(error.row()));
    }
    return {Table(std::move(all)), read.bytes};
  }

  const Source& base_;
  KeyColumns keys_;
  int own_columns_;
  Table schema_;
};

}  // namespace

bool has_key_expressions(const Query& query) {
  return std::ranges::any_of(query.group_by(), needs_column) || std::ranges::any_of(query.partition_by(), needs_column);
}

Query with_key_names(const Query& query, const std::vector<std::string>& columns) {
  query.validate();
  if (!has_key_expressions(query)) return query;
  Query named = query;
  if (!query.group_by().empty()) {
    name_keys_of_groups(query, named);
    return named;
  }
  named.partition_by(columns_of(query.partition_by()));
  if (query.select().empty()) named.select(default_selection(columns, key_expressions(query)));
  return named;
}

Query with_key_names(const Query& query, const Table& table) { return with_key_names(query, names_of(table)); }

KeyedQuery with_key_columns(const Query& query, const Table& table) {
  const KeyColumns keys(query, table);
  std::vector<Column> columns = table.columns();
  try {
    for (std::size_t i = 0; i < keys.size(); ++i) columns.push_back(keys.evaluate(i, table));
  } catch (const kernels::OverLimit& over) {
    throw ResourceError("the keys of 'group_by' and 'partition_by' need " + std::to_string(over.asked) +
                            " more bytes where " + std::to_string(over.used) +
                            " are in use, and the engine's limit of memory is " + std::to_string(over.limit) +
                            "; raise memory_bytes",
                        query::location_of(query));
  }
  return {keys.query(), Table(std::move(columns)).with_unsupported(table.unsupported())};
}

KeyScope::KeyScope(const EngineState& engine, const Query& query, const Table& table) {
  const kernels::AccountScope counted(engine.memory.get());
  memory_.emplace();
  keyed_ = with_key_columns(query, table);
}

std::optional<KeyedSource> with_key_columns(const Query& query, const Source& source) {
  if (!has_key_expressions(query)) return std::nullopt;
  auto keyed = std::make_unique<SourceWithKeys>(source, KeyColumns(query, source.schema()));
  Query named = keyed->query();
  return KeyedSource{std::move(named), std::move(keyed)};
}

}  // namespace skyrank::exec
