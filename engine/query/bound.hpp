#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <skyrank/query.hpp>
#include <skyrank/table.hpp>

#include "engine/query/ast.hpp"
#include "engine/query/locations.hpp"
#include "engine/query/written_names.hpp"

namespace skyrank::exec {
class Categories;  // engine/column_traits.hpp
}  // namespace skyrank::exec

// A query after names and types are settled: the logical plan. Values; no data is touched to make one.
namespace skyrank::query {

struct BoundNode;
using BoundPtr = std::shared_ptr<const BoundNode>;

/// One node of a typed expression. Evaluation types are boolean, int64, uint64, decimals, float64, date, timestamp and
/// string:
/// narrower columns are widened (exactly) when they are loaded.
struct BoundNode {
  Op op = Op::literal;
  DataType type;    // of the result, one of the evaluation types; a NULL literal takes the type its context wants
  int column = -1;  // Op::column: index into the table bound against
  Value value;      // Op::literal, converted to `type` (or Null); decimals have the scale of `type`
  std::optional<Decimal> written;  // Op::literal of float64: what the text says, where the float does not tell
  bool negated = false;
  std::vector<BoundPtr>
      children;  // comparison operands may differ in numeric type: compared exactly, never through double
};

/// An expression bound to a table's columns.
struct BoundExpression {
  BoundPtr root;
  DataType type;     // the stored type where the expression is a plain column, else root->type
  int column = -1;   // >= 0: the expression is exactly this column
  std::string text;  // canonical, for messages and plans
  Location location;
};

struct BoundPreference {
  Preference::Kind kind = Preference::Kind::pareto;
  BoundExpression expression;
  // Targets and members have the kind of value that `expression` has: for numbers an integer where the value is whole,
  // else a double (the targets of float expressions: always a double); for decimals a Decimal of any scale, or a double
  // that no Decimal holds; Date; Timestamp (in the expression's unit where that holds the instant, else in the unit it
  // was written in); bool; string. An open end of `between` is an infinite double for all of them.
  Value target;
  Value upper;
  std::vector<std::vector<Value>> values;
  bool inverted = false;     // terms: an odd number of `inverse` stood above
  bool nulls_first = false;  // terms but `where`: NULL is better than every value, also under `inverse`
  std::vector<BoundPreference> children;
};

/// A measure of the rows that the preference keeps, by the rows that it chooses from (engine/operators/measure).
struct BoundMeasure {
  enum class Kind { level, dominated_by, dominates, crowding, contribution, compromise };
  Kind kind = Kind::level;
  DataType type;
  std::string text;
  std::vector<double> numbers = {};  // contribution: the reference point; compromise: weights, empty for 1 each
};

struct BoundRankTerm {
  BoundExpression expression;  // of a measure a literal that stands for it where nothing is computed
  bool high = false;
  bool nulls_first = false;                           // NULL is better than every value
  std::optional<std::size_t> measure = std::nullopt;  // its place in BoundQuery::measures
};

struct BoundAggregate {
  std::string name;
  Aggregate::Function function = Aggregate::Function::count;
  std::optional<BoundExpression> argument;
  DataType type;  // of the result
};

/// A column of the answer: an expression, or a pseudo-column.
struct BoundOutput {
  enum class Kind { expression, row, level, score, measure };
  std::string name;
  Kind kind = Kind::expression;
  BoundExpression expression;  // score: that of the first ranking term; row, level, measure: none
  std::size_t measure = 0;     // measure: its place in BoundQuery::measures
};

struct BoundGroup {
  std::vector<int> columns;  // of the input table; none: all rows are one group, which is there without rows too
  std::vector<BoundAggregate> aggregates;
};

/// The logical plan. Expressions of `condition` and `group` are bound to the input table; all later ones to the grouped
/// table (the group columns in order, then the aggregates) when there is a group, else to the input table.
struct BoundQuery {
  std::string name;
  std::string from;   // the table's name
  Location location;  // of the query, for messages
  std::optional<BoundExpression> condition;
  std::optional<BoundGroup> group;
  std::optional<BoundExpression> having;  // over the grouped table
  std::vector<int> partition_columns;
  std::optional<BoundPreference>
      preference;  // `inverse` is pushed down to the terms; pareto within pareto is flattened,
                   // prior within prior too, and one-child compositions are unwrapped
  std::optional<std::int64_t> levels;
  std::optional<std::int64_t> at_least;
  std::optional<std::int64_t> skyband;  // of 2 or more, over a flat Pareto order; kAllRows for all
  bool distinct = false;
  std::vector<BoundMeasure> measures;  // that `ranking` and `outputs` name
  std::optional<Pick> pick;  // but by coverage, of `low` and `high` terms of numbers and times alone (picked_terms)
  std::vector<BoundRankTerm> ranking;
  std::int64_t offset = 0;
  std::optional<std::int64_t> limit;
  Ties ties = Ties::first;
  Missing nan_rule = Missing::worst;
  Missing null_rule = Missing::worst;
  std::vector<BoundOutput> outputs;
  ForcedPath path;
  PathLocations path_locations;  // places of the names in `path`

  /// Returns true if NULL is better than every value.
  bool nulls_first() const { return null_rule == Missing::best; }

  /// Returns true if a measure is of all rows from which the preference chooses, so that none of them can be left out.
  bool measures_all_rows() const;
  /// Returns true if rows that others dominate are kept, too.
  bool keeps_dominated_rows() const { return skyband || at_least || levels.value_or(1) > 1; }
  /// Returns true if a measure is of the values of the rows of a level, as `crowding` is.
  bool measures_values() const;
  /// Returns true if the Pareto levels of the rows are a part of the answer, or decide about one. A query that keeps
  /// all rows has to ask for them, as they take longer than all else.
  bool asks_for_levels() const;
  /// Returns true if the rows that others dominate count too, so that no part of the rows tells which are in the
  /// answer.
  bool counts_dominated_rows() const { return pick && pick->by == Pick::By::coverage; }
};

/// Returns the terms that `pick` weighs against each other: those of the preference or of its last part in `prior`,
/// which decides between the rows of one level.
std::vector<const BoundPreference*> picked_terms(const BoundPreference& preference);

/// Returns true if a rule asks for a look at the rows: `best` and `worst` only say how keys order them.
constexpr bool drops_or_refuses(Missing rule) { return rule == Missing::exclude || rule == Missing::error; }

/// Names and types of a table without its data.
struct Schema {
  struct Field {
    std::string name;
    DataType type;
    std::shared_ptr<const exec::Categories> order = nullptr;  ///< strings rank by it; null: by their bytes
  };
  std::vector<Field> fields;
};

Schema schema_of(const Table& table);

/// The keys over a table, and where their columns are.
struct TableKeys {
  std::vector<GroupKey> keys;   // with texts as the columns that they name (written_names.hpp)
  std::size_t own_columns = 0;  // of the schema; those behind them are of keys, under their names
};

/// Resolves names and checks types. BindError with the place of the expression and the nearest name; QueryError from
/// `query.validate()`. Keys that are expressions are columns of the schema under their names.
BoundQuery bind(const Query& query, const Schema& schema);

/// The same of a query that is valid and whose keys are known.
BoundQuery bind(const Query& query, const TableKeys& keys, const Schema& schema);

/// Binds one expression.
BoundExpression bind_expression(const Expression& expression, const Schema& schema);

/// The columns that some bound parts of a query read.
class ColumnSet {
 public:
  void add(const BoundExpression& expression) { add(*expression.root); }
  void add(const BoundPreference& preference);
  void add(const BoundGroup& group);
  void add(const std::vector<int>& columns) { columns_.insert(columns.begin(), columns.end()); }

  std::vector<int> ascending() const { return {columns_.begin(), columns_.end()}; }

 private:
  void add(const BoundNode& node);

  std::set<int> columns_;
};

/// Columns of the input that a query reads, ascending.
std::vector<int> columns_read(const BoundQuery& query);

/// Returns the query over a table that has the columns that it reads alone, in their order.
BoundQuery over_columns_read(const BoundQuery& query);

/// The same by name and before binding, in the table's order: all columns where the query names one that is none of
/// them, since the error offers the nearest name.
std::vector<std::string> columns_read(const Query& query, const std::vector<std::string>& table_columns);

/// BindError, at the place of the name, where a query names one of `columns`, which are among those of `is_column`.
void refuse_unsupported(const Query& query, const NameTest& is_column, const std::vector<UnsupportedColumn>& columns);

}  // namespace skyrank::query
