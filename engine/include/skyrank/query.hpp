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

/// What happens to rows that tie with the last row of a limited answer.
enum class Ties { first, last, all, any };
/// What a NaN (or NULL) in a preference or ranking expression means.
enum class Missing { worst, exclude, error };

struct Aggregate {
  enum class Function { count, sum, min, max, avg };

  std::string name;
  Function function = Function::count;
  std::optional<Expression> argument;  ///< none only for count()

  bool operator==(const Aggregate&) const = default;
};

struct SelectItem {
  std::string name;  ///< of the output column
  Expression expression;

  bool operator==(const SelectItem&) const = default;
};

enum class DeviceChoice { automatic, cpu, cuda };

/// A forced path, for experiments and tests. Empty means: the planner decides. A name that no part of the query can use
/// is a BindError: skyline algorithms and their parameters need `prefer`, top-k algorithms and theirs `rank_by`.
struct Using {
  std::vector<std::string> algorithms;  ///< names of the registry; of several for one problem, the planner chooses
  DeviceChoice device = DeviceChoice::automatic;
  std::map<std::string, std::int64_t> parameters;
  std::vector<std::string> without = {};           ///< rules of the planner that are off for this query
  std::map<std::string, Location> locations = {};  ///< where a batch names what is above; not compared

  bool operator==(const Using& other) const {
    return algorithms == other.algorithms && device == other.device && parameters == other.parameters &&
           without == other.without;
  }
};

/// A preference query; a value. Members may be set directly or through the chained setters, which take the same words
/// as the YAML form. Evaluation order: where, group_by, partition_by, prefer (levels, at_least, distinct), rank_by,
/// offset, limit (ties), select.
struct SKYRANK_EXPORT Query {
  std::string name;
  std::string table;
  std::optional<Expression> condition;
  std::vector<Expression> group_columns;
  std::vector<Aggregate> aggregates;
  std::vector<Expression> partition_columns;
  std::optional<Preference> preference;
  std::optional<std::int64_t> num_levels;     ///< >= 1
  std::optional<std::int64_t> at_least_rows;  ///< >= 0; whole levels until so many rows
  bool only_distinct = false;
  std::vector<RankTerm> ranking;
  std::int64_t skip = 0;                 ///< `offset`, >= 0
  std::optional<std::int64_t> max_rows;  ///< `limit`, >= 0
  Ties tie_rule = Ties::first;
  Missing nan_rule = Missing::worst;
  Missing null_rule = Missing::worst;
  std::vector<SelectItem> selection;                    ///< empty: `row`, then every column
  std::optional<std::chrono::milliseconds> time_limit;  ///< `timeout`, > 0: TimeoutError after so long
  Using path;
  Location location;  ///< where the query stands in its batch; not compared

  static Query from(std::string table);
  Query& named(std::string name);
  Query& where(Expression condition);
  Query& group_by(std::vector<Expression> columns);
  Query& aggregate(std::vector<Aggregate> aggregates);
  Query& partition_by(std::vector<Expression> columns);
  Query& prefer(Preference preference);
  Query& prefer(std::vector<Preference> pareto_terms);
  Query& levels(std::int64_t count);
  Query& at_least(std::int64_t rows);
  Query& distinct(bool on = true);
  Query& rank_by(std::vector<RankTerm> terms);
  Query& offset(std::int64_t rows);
  Query& limit(std::int64_t rows);
  Query& ties(Ties rule);
  Query& nan(Missing rule);
  Query& nulls(Missing rule);
  /// Columns, pseudo-columns (`row`, `level`, `score`) or expressions; the output column bears the canonical text.
  Query& select(const std::vector<Expression>& columns);
  Query& select(std::initializer_list<Expression> columns) { return select(std::vector<Expression>(columns)); }
  Query& select(std::vector<SelectItem> items);
  Query& select(std::initializer_list<SelectItem> items) { return select(std::vector<SelectItem>(items)); }
  /// The longest that an answer may take, waiting for the engine's threads included and reading the table not.
  Query& timeout(std::chrono::milliseconds limit);
  Query& using_path(Using path);

  /// QueryError where the parts contradict each other or a number is out of range. The engine calls it; YAML errors are
  /// found with their line and column before.
  void validate() const;

  bool operator==(const Query& other) const;
};

/// count(), and count(e), sum(e), min(e), max(e), avg(e), named.
SKYRANK_EXPORT Aggregate count(std::string name);
SKYRANK_EXPORT Aggregate count(std::string name, Expression argument);
SKYRANK_EXPORT Aggregate sum(std::string name, Expression argument);
SKYRANK_EXPORT Aggregate min(std::string name, Expression argument);
SKYRANK_EXPORT Aggregate max(std::string name, Expression argument);
SKYRANK_EXPORT Aggregate avg(std::string name, Expression argument);

}  // namespace skyrank
