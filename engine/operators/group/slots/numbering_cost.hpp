#pragma once

#include <vector>

#include <skyrank/types.hpp>

#include "engine/plan/numbering.hpp"
#include "engine/plan/operator_cost.hpp"

// Prices the numbering of rows by their groups or partitions.
namespace skyrank::exec {

/// The size of a problem: rows that get the numbers of their groups or partitions.
struct GroupingShape {
  std::vector<DataType> types;  ///< types of the columns whose values make the groups
  Numbering numbering = Numbering::by_values;
  double rows = 0;
  double groups = 0;
};

/// Returns the seconds of one thread for the numbers of all rows.
double numbering_seconds(const GroupingShape& shape);

/// Returns the bytes of the numbers, and of the hashes while these are made.
double number_bytes(const GroupingShape& shape);

/// Returns the cost of numbering rows by their groups or partitions, without sorting the rows by these numbers.
OperatorCost numbering_cost(const GroupingShape& shape, int threads);

}  // namespace skyrank::exec
