#include "engine/executor/key_columns.hpp"

#include <set>
#include <span>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/expression/evaluate.hpp"
#include "engine/expression/patterns.hpp"
#include "engine/placeholder_column.hpp"
#include "engine/row_error.hpp"

namespace skyrank::exec {

using query::KeyedQuery;
using query::Op;

namespace {

/// Makes the columns of the keys of a query, which outlives it.
class KeyColumns {
 public:
  explicit KeyColumns(const KeyedQuery& query) : keys_(query.keys), condition_(query.query.condition) {}

  std::size_t size() const { return keys_.size(); }
  const std::string& name(std::size_t i) const { return keys_[i].name; }
  DataType type(std::size_t i) const { return keys_[i].value.root->type; }  // what evaluate() gives

  /// Values of a key for the rows of a table that pass the condition; others may be NULL.
  Column evaluate(std::size_t i, const Table& table) const {
    const Rows rows{table.num_rows(), nullptr};
    query::BoundExpression key = keys_[i].value;
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
    add_columns(keys_[i].value, columns);
    if (needs_condition(i)) add_columns(*condition_, columns);
  }

 private:
  /// A key must not fail for rows that the condition leaves out.
  bool needs_condition(std::size_t i) const { return condition_ && !never_fails(keys_[i].value); }

  static void add_columns(const query::BoundExpression& expression, std::set<int>& columns) {
    const Ir ir = lower(*expression.root);
    for (const Operation& operation : ir.operations()) {
      if (operation.op == Op::column) columns.insert(operation.column);
    }
  }

  const std::vector<query::BoundKey>& keys_;
  const std::optional<query::BoundExpression>& condition_;
};

/// A source with the keys as columns behind its own.
class SourceWithKeys final : public Source {
 public:
  SourceWithKeys(const Source& base, const KeyedQuery& query)
      : base_(base), keys_(query), own_columns_(base.schema().num_columns()) {
    std::vector<Column> columns = base.schema().columns();
    for (std::size_t i = 0; i < keys_.size(); ++i) columns.push_back(absent(i, 0));
    schema_ = Table(std::move(columns)).with_unsupported(base.schema().unsupported());
  }

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

Table with_key_columns(const KeyedQuery& query, const Table& table) {
  if (query.keys.empty()) return table;
  const KeyColumns keys(query);
  std::vector<Column> columns = table.columns();
  try {
    for (std::size_t i = 0; i < keys.size(); ++i) columns.push_back(keys.evaluate(i, table));
  } catch (const kernels::OverLimit& over) {
    throw ResourceError("the keys of 'group_by' and 'partition_by' need " + std::to_string(over.asked) +
                            " more bytes where " + std::to_string(over.used) +
                            " are in use, and the engine's limit of memory is " + std::to_string(over.limit) +
                            "; raise memory_bytes",
                        query.query.location);
  }
  return Table(std::move(columns)).with_unsupported(table.unsupported());
}

KeyScope::KeyScope(const EngineState& engine, const KeyedQuery& query, const Table& table) {
  const kernels::AccountScope counted(engine.memory.get());
  memory_.emplace();
  table_ = with_key_columns(query, table);
}

std::unique_ptr<const Source> with_key_columns(const KeyedQuery& query, const Source& source) {
  return std::make_unique<SourceWithKeys>(source, query);
}

}  // namespace skyrank::exec
