#include "engine/executor/key_expressions.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/expression/evaluate.hpp"
#include "engine/expression/patterns.hpp"
#include "engine/query/ast.hpp"
#include "engine/query/bound.hpp"
#include "engine/row_error.hpp"
#include "engine/runtime/stop.hpp"

namespace skyrank::exec {

using query::Node;
using query::NodePtr;
using query::Op;

namespace {

bool is_expression(const Expression& key) { return key.column_name().empty(); }

/// The keys that are to become columns of the table.
std::vector<Expression> key_expressions(const Query& query) {
  std::vector<Expression> found;
  std::ranges::copy_if(query.group_by().empty() ? query.partition_by() : query.group_by(), std::back_inserter(found),
                       is_expression);
  return found;
}

/// Replaces expressions that equal a key by the key's column.
class KeyNames {
 public:
  explicit KeyNames(std::vector<Expression> keys) : keys_(std::move(keys)) {}

  Expression of(const Expression& expression) const {
    const NodePtr root = replaced(expression.root());
    return root == nullptr ? expression : query::make_expression(root, expression.location());
  }

  std::vector<Expression> of(std::vector<Expression> expressions) const {
    for (Expression& expression : expressions) expression = of(expression);
    return expressions;
  }

  Preference of(Preference preference) const {
    if (preference.expression) preference.expression = of(*preference.expression);
    for (Preference& child : preference.children) child = of(std::move(child));
    return preference;
  }

 private:
  /// Null where nothing is to be replaced.
  NodePtr replaced(const Node& node) const {
    for (const Expression& key : keys_) {
      if (!query::equal(node, key.root())) continue;
      Node column;
      column.op = Op::column;
      column.name = key.text();
      column.line = node.line;
      column.column = node.column;
      return std::make_shared<const Node>(std::move(column));
    }
    std::shared_ptr<Node> copy;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      NodePtr child = replaced(*node.children[i]);
      if (child == nullptr) continue;
      if (copy == nullptr) copy = std::make_shared<Node>(node);
      copy->children[i] = std::move(child);
    }
    return copy;
  }

  std::vector<Expression> keys_;
};

/// Returns what a query without `select` shows: the row and all columns but those of the keys.
std::vector<SelectItem> default_selection(const std::vector<std::string>& columns,
                                          const std::vector<Expression>& keys) {
  std::vector<SelectItem> items;
  const auto is_column = [&](const std::string& name) { return std::ranges::find(columns, name) != columns.end(); };
  const std::string row = is_column("row") ? "row()" : "row";
  if (!is_column(row)) items.push_back({row, Expression(row)});
  for (const std::string& name : columns) {
    const bool is_key = std::ranges::any_of(keys, [&](const Expression& key) { return key.text() == name; });
    if (!is_key) items.push_back({name, Expression::column(name)});
  }
  return items;
}

/// Names the keys of the groups in the clauses that see the groups.
void name_keys_of_groups(const Query& query, const KeyNames& names, Query& named) {
  named.group_by(names.of(query.group_by())).partition_by(names.of(query.partition_by()));
  for (const Expression& key : named.partition_by()) {
    if (!is_expression(key)) continue;
    throw BindError(
        "'partition_by' takes columns of the groups, not the expression " + key.text() + "; add it to " + "'group_by'",
        key.location());
  }
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
    if (query.where()) condition_ = query::bind_expression(*query.where(), fields);
    for (const Expression& key : keys_) {
      if (fields.find(key.text())) {
        throw BindError("the table has a column named like the key " + key.text() +
                            "; put the name in backquotes to mean the column, or rename it",
                        key.location());
      }
      bound_.push_back(query::bind_expression(key, fields));
    }
    for (const query::BoundExpression& key : bound_) fields.fields.push_back({key.text, key.type});
    query::bind(named_, fields);  // so that mistakes in a query are told before rows that fail
  }

  const Query& query() const { return named_; }
  std::size_t size() const { return bound_.size(); }
  const query::BoundExpression& key(std::size_t i) const { return bound_[i]; }

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
    return evaluate_all(key, table, rows, key.text);
  }

  /// Adds the columns that a key is evaluated from.
  void add_inputs(std::size_t i, std::set<int>& columns) const {
    add_columns(bound_[i], columns);
    if (needs_condition(i)) add_columns(*condition_, columns);
  }

 private:
  /// A key must not fail for rows that the condition leaves out.
  bool needs_condition(std::size_t i) const { return condition_ && !never_fails(bound_[i]); }

  static void add_columns(const query::BoundExpression& expression, std::set<int>& columns) {
    const Ir ir = lower(*expression.root);
    for (const Operation& operation : ir.operations()) {
      if (operation.op == Op::column) columns.insert(operation.column);
    }
  }

  std::vector<Expression> keys_;
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

  SourceRows read(std::span<const std::size_t> units, std::span<const int> columns) const override {
    return with_keys(base_.read(units, inputs(columns)), columns, [&](RowId row) { return row_of(units, row); });
  }

  SourceRows read_rows(std::span<const RowId> rows, std::span<const int> columns) const override {
    return with_keys(base_.read_rows(rows, inputs(columns)), columns,
                     [&](RowId row) { return rows[static_cast<std::size_t>(row)]; });
  }

 private:
  Column absent(std::size_t key, std::int64_t rows) const {
    return absent_column(keys_.key(key).text, keys_.key(key).type, rows);
  }

  bool is_asked_for(std::size_t key, std::span<const int> columns) const {
    return std::ranges::find(columns, own_columns_ + static_cast<int>(key)) != columns.end();
  }

  /// The columns of the base from which some columns can be made.
  std::vector<int> inputs(std::span<const int> columns) const {
    std::set<int> needed;
    std::ranges::copy_if(columns, std::inserter(needed, needed.end()), [&](int c) { return c < own_columns_; });
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (is_asked_for(i, columns)) keys_.add_inputs(i, needed);
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
    std::vector<Column> all = read.table.columns();
    try {
      for (std::size_t i = 0; i < keys_.size(); ++i) {
        all.push_back(is_asked_for(i, columns) ? keys_.evaluate(i, read.table) : absent(i, read.table.num_rows()));
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
  return std::ranges::any_of(query.group_by(), is_expression) ||
         std::ranges::any_of(query.partition_by(), is_expression);
}

Query with_key_names(const Query& query, const std::vector<std::string>& columns) {
  query.validate();
  if (!has_key_expressions(query)) return query;
  const std::vector<Expression> keys = key_expressions(query);
  const KeyNames names(keys);
  Query named = query;
  if (!query.group_by().empty()) {
    name_keys_of_groups(query, names, named);
    return named;
  }
  named.partition_by(names.of(query.partition_by()));
  if (query.select().empty()) named.select(default_selection(columns, keys));
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
                        query.location());
  }
  return {keys.query(), Table(std::move(columns)).with_unsupported(table.unsupported())};
}

KeyScope::KeyScope(const EngineState& engine, const Query& query, const Table& table, const Limits& limits)
    : query_(query), table_(table) {
  if (!has_key_expressions(query)) return;
  const kernels::AccountScope counted(engine.memory.get());
  memory_.emplace();
  const std::stop_token stop = limits.stop();
  const StopScope stops(stop);
  keyed_ = with_key_columns(query, table);
}

std::optional<KeyedSource> with_key_columns(const Query& query, const Source& source) {
  if (!has_key_expressions(query)) return std::nullopt;
  auto keyed = std::make_unique<SourceWithKeys>(source, KeyColumns(query, source.schema()));
  Query named = keyed->query();
  return KeyedSource{std::move(named), std::move(keyed)};
}

}  // namespace skyrank::exec
