#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/expression/evaluate.hpp"
#include "engine/keys/block_keys.hpp"

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

/// A score like `0.3 * a + b - 2 * c` over float32 and float64 columns without NULLs that lie contiguously, whose keys
/// are made a block at a time. They are those of what the evaluator gives, bit for bit: the same operations in the same
/// order, each rounded.
class WeightedSum {
 public:
  /// Nothing if the expression is not such a sum, from left to right, of columns and products of a number and a column.
  static std::optional<WeightedSum> match(const query::BoundExpression& expression, const Table& table);

  /// Keys of the values of rows [begin, begin + size), at most kBlockRows.
  void encode(std::int64_t begin, std::int64_t size, bool high, std::uint64_t* keys) const;

 private:
  std::vector<SumTerm> terms_;
};

}  // namespace skyrank::exec
