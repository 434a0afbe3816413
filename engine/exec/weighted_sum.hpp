#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/exec/evaluate.hpp"

namespace skyrank::exec {

/// A score like `0.3 * a + b - 2 * c` over float32 and float64 columns without NULLs, computed a block at a time. Gives
/// what the evaluator gives, bit for bit: the same operations in the same order, each rounded.
class WeightedSum {
 public:
  /// Nothing if the expression is not such a sum, from left to right, of columns and products of a number and a column.
  static std::optional<WeightedSum> match(const query::BoundExpression& expression, const Table& table);

  /// The values of rows [begin, begin + size), at most kBlockRows, in `sum`.
  void evaluate(std::int64_t begin, std::int64_t size, double* sum) const;

 private:
  struct Term {
    const ColumnData* column = nullptr;
    double weight = 1;
  };

  bool add(const query::BoundNode& node, const Table& table, bool negative);

  std::vector<Term> terms_;
};

}  // namespace skyrank::exec
