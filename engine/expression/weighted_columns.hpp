#pragma once

#include <vector>

#include <skyrank/table.hpp>

#include "engine/query/bound.hpp"

// Recognises weighted sums of columns.
namespace skyrank::exec {

/// A column of the table and what its values are multiplied by.
struct WeightedColumn {
  int column = 0;
  double weight = 1;
};

/// The terms of an expression that is a sum, from left to right, of float32 and float64 columns without NULLs and
/// products of a number and such a column; none of any other expression.
std::vector<WeightedColumn> weighted_columns(const query::BoundNode& expression, const Table& table);

/// The same of a sum that is computed in floats, whose columns may also be int32 and int64, and have NULLs.
std::vector<WeightedColumn> weighted_numbers(const query::BoundNode& expression, const Table& table);

}  // namespace skyrank::exec
