#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/differential/expression.hpp"

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
};

struct Ranking {
  ExpressionPtr expression;
  bool high = false;
};

struct Aggregation {
  std::string name;
  std::string function;    ///< count, sum, min, max or avg
  ExpressionPtr argument;  ///< null: count()
};

struct Output {
  enum class Kind { row, level, score, dominated_by, dominates, expression };

  std::string name;
  Kind kind = Kind::expression;
  ExpressionPtr expression = {};
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
  std::vector<std::size_t> group_by = {};  ///< columns of the input
  std::vector<Aggregation> aggregates = {};
  std::vector<std::size_t> partition_by = {};  ///< columns of what was grouped
  std::optional<Preference> prefer = {};
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
};

}  // namespace skyrank::differential
