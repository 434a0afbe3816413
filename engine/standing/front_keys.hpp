#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/query/bound.hpp"
#include "kernels/common/memory.hpp"

namespace skyrank::exec {

/// Keys of some rows: a row has `dims` of them, one after the other, and a lower one is better.
struct FrontKeyRows {
  std::vector<bool> passes;             ///< false for rows that the condition leaves out, whose keys mean nothing
  kernels::Vector<std::uint64_t> keys;  ///< row by row
};

/// Makes keys that compare the same in every table, whatever rows it has, so that they can be kept.
class FrontKeys {
 public:
  /// Returns the keys of a query whose answer a front alone tells: a skyline of the whole table, of `low` and `high`
  /// terms of numbers, times and booleans, where missing values are worst. Nothing for other queries.
  static std::optional<FrontKeys> of(const query::BoundQuery& query);

  /// Returns the number of keys of a row.
  std::size_t dims() const { return dims_; }

  /// Makes the keys of rows with the columns of the query. RowError where an expression fails.
  FrontKeyRows of_rows(const Table& rows) const;

 private:
  struct Term {
    query::BoundExpression expression;
    bool high = false;
    bool marks_null = false;  ///< NULL has a key of its own, as numbers take all values of the other one
  };

  std::optional<query::BoundExpression> condition_;
  std::vector<Term> terms_;
  std::size_t dims_ = 0;
};

}  // namespace skyrank::exec
