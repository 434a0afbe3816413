#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <skyrank/source.hpp>

#include "engine/query/bound.hpp"

namespace skyrank::exec {

/// Makes a condition of its operands.
query::BoundPtr make_condition(query::Op op, std::vector<query::BoundPtr> operands);

/// Makes an operand: a column of the table, by its place.
query::BoundPtr make_column(DataType type, int column);

/// Units of a source that a query has to read.
struct UnitsToRead {
  std::vector<std::size_t> units;  ///< ascending
  std::string reason;              ///< how units were found to be without an answer, or why none was
};

/// Returns all units of a source.
std::vector<std::size_t> all_units(const Source& source);

/// Finds units by their statistics, which are asked for once.
class UnitPruner {
 public:
  explicit UnitPruner(const Source& source);
  ~UnitPruner();
  UnitPruner(const UnitPruner&) = delete;
  UnitPruner& operator=(const UnitPruner&) = delete;

  /// Leaves out the units whose statistics show that `condition` is true for none of their rows. A condition that can
  /// fail (integer overflow, division by zero) needs all rows, as the lowest row on which it fails is to be named.
  UnitsToRead units_with(const query::BoundExpression& condition);

 private:
  class Statistics;

  const Source& source_;
  std::unique_ptr<Statistics> statistics_;
};

}  // namespace skyrank::exec
