#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/expression/ir.hpp"
#include "engine/keys/blocks/block_keys.hpp"

namespace skyrank::exec {

/// A score like `0.3 * a + b - 2 * c` over contiguous float32 and float64 columns without NULLs. It makes keys of a
/// block of rows in one loop. They equal the keys of the evaluator's values bit for bit: the operations are the same,
/// in the same order, each rounded.
class WeightedSum {
 public:
  /// Nothing if the expression is not such a sum, from left to right, of columns and products of a number and a column.
  static std::optional<WeightedSum> match(const Ir& expression, const Table& table);

  /// Keys of the values of rows [begin, begin + size), at most kBlockRows.
  void encode(std::int64_t begin, std::int64_t size, bool high, std::uint64_t* keys) const;

 private:
  std::vector<SumTerm> terms_;
};

}  // namespace skyrank::exec
