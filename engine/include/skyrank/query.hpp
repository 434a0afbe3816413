#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <skyrank/export.hpp>
#include <skyrank/preference.hpp>

// Declares queries, which are values: a builder whose words are those of the YAML form, and reading and writing of SQL.
namespace skyrank {
struct QueryAccess;  // engine/query/locations.hpp

inline namespace v0 {

/// The rule for rows that tie with the last row of a limited answer.
enum class Ties { first, last, all, any };
/// The meaning of a NaN (or NULL) in a preference or ranking expression. `best` puts it before every value, and NULL
/// before NaN if both are best.
enum class Missing { worst, exclude, error, best };

/// A choice of a few of the rows that `prefer` keeps, one after the other: each the best beside those picked before, of
/// equal ones the lowest row id.
struct Pick {
  /// The measures of a row beside those picked.
  enum class By {
    distance,    ///< the distance to the nearest of them, from the row on that is best in the first term
    coverage,    ///< the number of rows that it dominates and none of them does
    hypervolume  ///< the volume that it adds, up to the reference point
  };

  std::int64_t count = 1;              ///< number of rows of each partition, >= 1
  By by = By::distance;                ///< the measure
  std::vector<double> reference = {};  ///< hypervolume: a value for each term

  bool operator==(const Pick&) const = default;
};

/// One aggregate of `group_by`, under a name of its own.
struct Aggregate {
  /// The aggregate functions.
  enum class Function { count, sum, min, max, avg };

  std::string name;                     ///< name of the output column
  Function function = Function::count;  ///< the function to compute
  std::optional<Expression> argument;   ///< none only for count()

  bool operator==(const Aggregate&) const = default;
};

/// One key of groups or partitions: an expression, and the name of its column. An expression alone is one, too, and so
/// are `"city"` and `{"month", "month(opened)"}`.
struct GroupKey {
  std::string name;       ///< the column's name, or the canonical text of an expression without a name
  Expression expression;  ///< its value

  /// Makes a key of an expression whose column bears its text as its name.
  SKYRANK_EXPORT GroupKey(Expression key);  // NOLINT: an expression is a key
  /// Parses; QueryError with line and column inside `text`.
  GroupKey(const char* text) : GroupKey(Expression(text)) {}  // NOLINT: so is a text
  /// Parses; QueryError with line and column inside `text`.
  GroupKey(const std::string& text) : GroupKey(Expression(text)) {}  // NOLINT
  /// Makes a key with a name of its own.
  GroupKey(std::string column, Expression key) : name(std::move(column)), expression(std::move(key)) {}

  /// Returns true if the key is a column of the table under its own name.
  bool is_column() const noexcept { return expression.column_name() == name; }

  bool operator==(const GroupKey&) const = default;
};

/// One column of the answer.
struct SelectItem {
  std::string name;       ///< name of the output column
  Expression expression;  ///< its value

  bool operator==(const SelectItem&) const = default;
};

/// The device that a query runs on. The planner decides where it is automatic.
enum class DeviceChoice { automatic, cpu, cuda };

/// A forced path, for experiments and tests. Empty means: the planner decides. A name that no part of the query can use
/// is a BindError: skyline algorithms and their parameters need `prefer`, top-k algorithms and theirs `rank_by`.
struct ForcedPath {
  std::vector<std::string> algorithms;  ///< names of the registry; of several for one problem, the planner chooses
  DeviceChoice device = DeviceChoice::automatic;   ///< the device to run on
  std::map<std::string, std::int64_t> parameters;  ///< values of the algorithms' parameters, by name
  std::vector<std::string> without = {};           ///< rules of the planner that are off for this query

  bool operator==(const ForcedPath&) const = default;
};

/// The former name of ForcedPath.
using Using [[deprecated("use ForcedPath")]] = ForcedPath;

/// Keeps every row as `Query::skyband`.
inline constexpr std::int64_t kAllRows = std::numeric_limits<std::int64_t>::max();

/// A preference query; a value. A part is set and read by one word, that of the YAML form: `query.limit(10)` sets it,
/// `query.limit()` returns it. Setters return the query, so that they chain. Evaluation order: where, group_by, having,
/// partition_by, prefer (levels, at_least, skyband, distinct), pick, rank_by, offset, limit (ties), select.
class SKYRANK_EXPORT Query {
 public:
  /// Parses one statement of SkyRank's SQL (engine/docs/sql.md). The text of `FROM 'file'` is the table's name.
  /// QueryError with line and column inside `sql`, also for what is SQL but no part of the dialect.
  [[nodiscard]] static Query parse(std::string_view sql);

  /// Begins a query over a table.
  [[nodiscard]] static Query from(std::string table);
  /// Returns the name of the table.
  const std::string& from() const { return from_; }

  /// Sets the name of the query and of its output file.
  Query& name(std::string name);
  /// Returns the name; empty where there is none.
  const std::string& name() const { return name_; }

  /// Keeps the rows for which the condition is true.
  Query& where(std::optional<Expression> condition);
  /// Returns the condition.
  const std::optional<Expression>& where() const { return where_; }

  /// Replaces the rows by one row of each group: those with equal values of the keys, which are columns or expressions,
  /// with or without a name. Later clauses mean a key's column by its name and by its expression. Throws QueryError
  /// where there are no keys.
  Query& group_by(std::vector<GroupKey> keys);
  /// Returns the keys of the groups; empty without groups.
  const std::vector<GroupKey>& group_by() const { return group_by_; }

  /// Sets the columns that the groups have besides those of `group_by`. Without `group_by` all rows are one group,
  /// which is there even if no row is.
  Query& aggregate(std::vector<Aggregate> aggregates);
  /// Returns the aggregates.
  const std::vector<Aggregate>& aggregate() const { return aggregate_; }

  /// Returns true if later clauses see groups in place of the rows: with `group_by`, `aggregate` or both.
  bool has_groups() const { return !group_by_.empty() || !aggregate_.empty(); }

  /// Keeps the groups for which the condition over their columns is true.
  Query& having(std::optional<Expression> condition);
  /// Returns the condition on the groups.
  const std::optional<Expression>& having() const { return having_; }

  /// Answers the rest of the query within each partition: the rows with equal values of the keys, which are columns or
  /// expressions. One with a name is a column of the rows for later clauses, and of an answer without `select`.
  Query& partition_by(std::vector<GroupKey> keys);
  /// Returns the keys of the partitions; empty without partitions.
  const std::vector<GroupKey>& partition_by() const { return partition_by_; }

  /// Keeps the rows that no other row dominates.
  Query& prefer(Preference preference);
  /// Keeps the rows that no other row dominates in the Pareto order of these terms.
  Query& prefer(std::vector<Preference> pareto_terms);
  /// Returns the preference.
  const std::optional<Preference>& prefer() const { return prefer_; }

  /// Keeps the first `count` Pareto levels, >= 1. Here and below validate() refuses numbers that are out of range.
  Query& levels(std::optional<std::int64_t> count);
  /// Returns the number of levels; nothing means the first one.
  std::optional<std::int64_t> levels() const { return levels_; }

  /// Keeps whole Pareto levels until there are so many rows; >= 0.
  Query& at_least(std::optional<std::int64_t> rows);
  /// Returns the number of rows to reach by whole levels.
  std::optional<std::int64_t> at_least() const { return at_least_; }

  /// Keeps the rows that fewer than `rows` rows dominate: the skyband (Papadias et al., ACM TODS 30(1), 2005). >= 1,
  /// which is the skyline; kAllRows keeps every row, for functions such as `dominates()`. Excludes the two above.
  Query& skyband(std::optional<std::int64_t> rows);
  /// Returns the number of dominators at which a row is out; nothing without a skyband.
  std::optional<std::int64_t> skyband() const { return skyband_; }

  /// Sets whether only the first of the rows that are equal in all preferences is kept.
  Query& distinct(bool on);
  /// Returns true if only the first of equal rows is kept.
  bool distinct() const { return distinct_; }

  /// Keeps a few of the rows that `prefer` keeps.
  Query& pick(std::optional<Pick> few);
  /// Returns how few rows are picked; nothing keeps all.
  const std::optional<Pick>& pick() const { return pick_; }

  /// Orders the answer. Throws QueryError where there are no terms.
  Query& rank_by(std::vector<RankTerm> terms);
  /// Returns the terms of the ranking; empty without one.
  const std::vector<RankTerm>& rank_by() const { return rank_by_; }

  /// Leaves out the first rows of the ranking; >= 0.
  Query& offset(std::int64_t rows);
  /// Returns the number of rows to leave out.
  std::int64_t offset() const { return offset_; }

  /// Sets the number of rows to keep; >= 0. Nothing keeps all.
  Query& limit(std::optional<std::int64_t> rows);
  /// Returns the number of rows to keep.
  std::optional<std::int64_t> limit() const { return limit_; }

  /// Sets which rows that tie with the last one are kept.
  Query& ties(Ties rule);
  /// Returns the rule for rows that tie with the last one.
  Ties ties() const { return ties_; }

  /// Sets the meaning of NaN in preferences and rankings.
  Query& nan(Missing rule);
  /// Returns the meaning of NaN.
  Missing nan() const { return nan_; }

  /// Sets the meaning of NULL in preferences and rankings.
  Query& nulls(Missing rule);
  /// Returns the meaning of NULL.
  Missing nulls() const { return nulls_; }

  /// Sets the columns of the answer: columns, pseudo-columns (`row`, `level`, `score`), functions of rows such as
  /// `dominated_by()` or expressions. The canonical
  /// text of an expression is the name of its output column.
  Query& select(const std::vector<Expression>& columns);
  /// Sets the columns of the answer.
  Query& select(std::initializer_list<Expression> columns) { return select(std::vector<Expression>(columns)); }
  /// Sets the columns of the answer, with names of their own.
  Query& select(std::vector<SelectItem> items);
  /// Sets the columns of the answer, with names of their own.
  Query& select(std::initializer_list<SelectItem> items) { return select(std::vector<SelectItem>(items)); }
  /// Returns the columns of the answer; empty means `row`, then every column.
  const std::vector<SelectItem>& select() const { return select_; }

  /// Sets a limit on the time of the answer, > 0, after which there is a TimeoutError. Waiting for the engine's threads
  /// counts, reading the table does not.
  Query& timeout(std::optional<std::chrono::milliseconds> limit);
  /// Returns the limit on the time.
  std::optional<std::chrono::milliseconds> timeout() const { return timeout_; }

  /// Forces a path, for experiments and tests: `using` of the YAML form, which is a keyword of C++.
  Query& using_path(ForcedPath path);
  /// Returns the forced path.
  const ForcedPath& using_path() const { return using_path_; }

  /// Sets the place of the query in its batch; not compared.
  [[deprecated("parse_batch and Query::parse set it")]] Query& location(Location place);
  /// Returns the place of the query in its batch.
  [[deprecated("read Error::location")]] const Location& location() const { return location_; }

  /// Throws QueryError if parts contradict each other or a number is out of range. The engine calls it; the YAML reader
  /// reports such errors with line and column before.
  void validate() const;

  /// Returns true if the queries ask the same, whatever their places.
  bool operator==(const Query& other) const;

 private:
  friend struct skyrank::QueryAccess;

  std::string name_;
  std::string from_;
  std::optional<Expression> where_;
  std::vector<GroupKey> group_by_;
  std::vector<Aggregate> aggregate_;
  std::optional<Expression> having_;
  std::vector<GroupKey> partition_by_;
  std::optional<Preference> prefer_;
  std::optional<std::int64_t> levels_;
  std::optional<std::int64_t> at_least_;
  std::optional<std::int64_t> skyband_;
  bool distinct_ = false;
  std::optional<Pick> pick_;
  std::vector<RankTerm> rank_by_;
  std::int64_t offset_ = 0;
  std::optional<std::int64_t> limit_;
  Ties ties_ = Ties::first;
  Missing nan_ = Missing::worst;
  Missing nulls_ = Missing::worst;
  std::vector<SelectItem> select_;
  std::optional<std::chrono::milliseconds> timeout_;
  ForcedPath using_path_;
  Location location_;                               // the query's place in its batch
  std::map<std::string, Location> path_locations_;  // places of the names in using_path_
};

/// Returns the query as one statement of SQL, over several lines; `Query::parse` gives an equal query back. Throws
/// QueryError where `query.validate()` does.
SKYRANK_EXPORT std::string to_sql(const Query& query);

/// Returns count(): the number of rows of a group.
SKYRANK_EXPORT Aggregate count(std::string name);
/// Returns count(e): the number of rows of a group where the argument is not NULL.
SKYRANK_EXPORT Aggregate count(std::string name, Expression argument);
/// Returns sum(e), which skips NULL.
SKYRANK_EXPORT Aggregate sum(std::string name, Expression argument);
/// Returns min(e), which skips NULL.
SKYRANK_EXPORT Aggregate min(std::string name, Expression argument);
/// Returns max(e), which skips NULL.
SKYRANK_EXPORT Aggregate max(std::string name, Expression argument);
/// Returns avg(e), a float64 that skips NULL.
SKYRANK_EXPORT Aggregate avg(std::string name, Expression argument);

}  // namespace v0
}  // namespace skyrank
