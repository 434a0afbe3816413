#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <skyrank/export.hpp>
#include <skyrank/preference.hpp>

namespace skyrank {

/// The rule for rows that tie with the last row of a limited answer.
enum class Ties { first, last, all, any };
/// The meaning of a NaN (or NULL) in a preference or ranking expression.
enum class Missing { worst, exclude, error };

/// One aggregate of `group_by`, under a name of its own.
struct Aggregate {
  /// The aggregate functions.
  enum class Function { count, sum, min, max, avg };

  std::string name;                     ///< name of the output column
  Function function = Function::count;  ///< the function to compute
  std::optional<Expression> argument;   ///< none only for count()

  bool operator==(const Aggregate&) const = default;
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
struct Using {
  std::vector<std::string> algorithms;  ///< names of the registry; of several for one problem, the planner chooses
  DeviceChoice device = DeviceChoice::automatic;   ///< the device to run on
  std::map<std::string, std::int64_t> parameters;  ///< values of the algorithms' parameters, by name
  std::vector<std::string> without = {};           ///< rules of the planner that are off for this query
  std::map<std::string, Location> locations = {};  ///< places of the names above in a batch; not compared

  /// Returns true if the forced paths are equal, whatever their places.
  bool operator==(const Using& other) const {
    return algorithms == other.algorithms && device == other.device && parameters == other.parameters &&
           without == other.without;
  }
};

/// A preference query; a value. Members may be set directly or through the chained setters, which take the same words
/// as the YAML form. Evaluation order: where, group_by, partition_by, prefer (levels, at_least, distinct), rank_by,
/// offset, limit (ties), select.
struct SKYRANK_EXPORT Query {
  std::string name;                                     ///< name of the query and of its output file
  std::string table;                                    ///< name of the table, as in `from`
  std::optional<Expression> condition;                  ///< `where`
  std::vector<Expression> group_columns;                ///< `group_by`
  std::vector<Aggregate> aggregates;                    ///< `aggregate`
  std::vector<Expression> partition_columns;            ///< `partition_by`
  std::optional<Preference> preference;                 ///< `prefer`
  std::optional<std::int64_t> num_levels;               ///< >= 1
  std::optional<std::int64_t> at_least_rows;            ///< >= 0; whole levels until so many rows
  bool only_distinct = false;                           ///< `distinct`
  std::vector<RankTerm> ranking;                        ///< `rank_by`
  std::int64_t skip = 0;                                ///< `offset`, >= 0
  std::optional<std::int64_t> max_rows;                 ///< `limit`, >= 0
  Ties tie_rule = Ties::first;                          ///< `ties`
  Missing nan_rule = Missing::worst;                    ///< `nan`
  Missing null_rule = Missing::worst;                   ///< `nulls`
  std::vector<SelectItem> selection;                    ///< empty: `row`, then every column
  std::optional<std::chrono::milliseconds> time_limit;  ///< `timeout`, > 0: TimeoutError after so long
  Using path;                                           ///< `using`
  Location location;                                    ///< place of the query in its batch; not compared

  /// Begins a query over a table.
  static Query from(std::string table);
  /// Sets the name.
  Query& named(std::string name);
  /// Keeps the rows for which the condition is true.
  Query& where(Expression condition);
  /// Replaces the rows by one row of each group.
  Query& group_by(std::vector<Expression> columns);
  /// Adds columns to the groups.
  Query& aggregate(std::vector<Aggregate> aggregates);
  /// Answers the rest of the query within each partition.
  Query& partition_by(std::vector<Expression> columns);
  /// Keeps the rows that no other row dominates.
  Query& prefer(Preference preference);
  /// Keeps the rows that no other row dominates in the Pareto order of these terms.
  Query& prefer(std::vector<Preference> pareto_terms);
  /// Keeps the first Pareto levels.
  Query& levels(std::int64_t count);
  /// Keeps whole Pareto levels until there are so many rows.
  Query& at_least(std::int64_t rows);
  /// Keeps the first of the rows that are equal in all preferences.
  Query& distinct(bool on = true);
  /// Orders the answer.
  Query& rank_by(std::vector<RankTerm> terms);
  /// Leaves out the first rows of the ranking.
  Query& offset(std::int64_t rows);
  /// Sets the number of rows to keep.
  Query& limit(std::int64_t rows);
  /// Sets which rows that tie with the last one are kept.
  Query& ties(Ties rule);
  /// Sets the meaning of NaN in preferences and rankings.
  Query& nan(Missing rule);
  /// Sets the meaning of NULL in preferences and rankings.
  Query& nulls(Missing rule);
  /// Sets the columns of the answer: columns, pseudo-columns (`row`, `level`, `score`) or expressions. The canonical
  /// text of an expression is the name of its output column.
  Query& select(const std::vector<Expression>& columns);
  /// Sets the columns of the answer.
  Query& select(std::initializer_list<Expression> columns) { return select(std::vector<Expression>(columns)); }
  /// Sets the columns of the answer, with names of their own.
  Query& select(std::vector<SelectItem> items);
  /// Sets the columns of the answer, with names of their own.
  Query& select(std::initializer_list<SelectItem> items) { return select(std::vector<SelectItem>(items)); }
  /// Sets a limit on the time of the answer. Waiting for the engine's threads counts, reading the table does not.
  Query& timeout(std::chrono::milliseconds limit);
  /// Forces a path, for experiments and tests.
  Query& using_path(Using path);

  /// Throws QueryError if parts contradict each other or a number is out of range. The engine calls it; the YAML reader
  /// reports such errors with line and column before.
  void validate() const;

  /// Returns true if the queries ask the same, whatever their places.
  bool operator==(const Query& other) const;
};

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

}  // namespace skyrank
