#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/differential/oracle/expression.hpp"

// Tables and queries as the oracle sees them.
namespace skyrank::differential {

struct Field {
  std::string name;
  Domain domain;
};

/// Rows by position; of groups also the first input row of each.
struct Relation {
  std::vector<Field> fields = {};
  std::vector<Row> rows = {};
  std::vector<std::int64_t> first_rows = {};  ///< empty: these are input rows
};

struct Preference {
  enum class Kind { low, high, around, between, in, where, pareto, prior, inverse };

  Kind kind = Kind::low;
  ExpressionPtr expression = {};
  Cell from = {};  ///< or the target of `around`
  Cell to = {};
  std::vector<std::vector<Cell>> sets = {};
  std::vector<Preference> children = {};
  /// With a step: its text in YAML and the value that it divides; `expression` is then the box.
  std::string step = {};
  ExpressionPtr stepped = {};
};

/// How a query says its preference where that is not the preference itself: by steps, weights and conditions to meet.
struct Spelling {
  Preference preference;
  std::vector<std::string> weights = {};
  std::string feasible = {};
  std::vector<std::string> violations = {};
};

/// A function of a row among those from which `prefer` chooses.
struct Measure {
  enum class Kind { level, dominated_by, dominates, crowding, contribution, compromise };

  Kind kind = Kind::level;
  std::vector<double> numbers = {};  ///< a reference point; weights
};

/// The call of a measure, such as "compromise(1, 0.5)".
std::string text_of(const Measure& measure);

struct Pick {
  enum class By { distance, coverage, hypervolume };

  std::int64_t count = 1;
  By by = By::distance;
  std::vector<double> reference = {};
};

/// A term: of values, or of a measure.
struct Ranking {
  ExpressionPtr expression;
  bool high = false;
  std::optional<Measure> measure = {};
};

struct Aggregation {
  std::string name;
  std::string function;    ///< count, sum, min, max or avg
  ExpressionPtr argument;  ///< null: count()
};

struct Output {
  enum class Kind { row, level, score, measure, expression };

  std::string name;
  Kind kind = Kind::expression;
  ExpressionPtr expression = {};
  Measure measure = {};
};

/// How the engine is told to go; it must not change the answer.
struct Path {
  std::string algorithm = {};
  std::string device = {};
  std::vector<std::string> without = {};

  bool may_be_refused() const { return !algorithm.empty() || !device.empty(); }
};

struct Query {
  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

  std::string name = {};
  ExpressionPtr where = {};
  std::vector<std::size_t> group_by = {};      ///< columns of the input
  std::vector<Aggregation> aggregates = {};    ///< without `group_by`: of all rows
  ExpressionPtr having = {};                   ///< over what was grouped
  std::vector<std::size_t> partition_by = {};  ///< columns of what was grouped
  std::optional<Preference> prefer = {};
  std::optional<Spelling> spelling = {};  ///< empty: that of `prefer`
  std::optional<Pick> pick = {};
  std::optional<std::int64_t> levels = {};
  std::optional<std::int64_t> at_least = {};
  std::optional<std::int64_t> skyband = {};  ///< kAll for all rows
  bool distinct = false;
  std::vector<Ranking> rank_by = {};
  std::int64_t offset = 0;
  std::optional<std::int64_t> limit = {};
  std::string ties = "first";
  std::string nan = "worst";
  std::string nulls = "worst";
  std::vector<Output> select = {};  ///< empty: `row` and all columns
  Path path = {};

  bool has_groups() const { return !group_by.empty() || !aggregates.empty(); }
};

}  // namespace skyrank::differential
