#pragma once

#include <string>
#include <utility>

#include <skyrank/error.hpp>
#include <skyrank/types.hpp>

namespace skyrank {

/// A DataError that the values of a row cause. A query that looks at fewer rows may meet another one, or none.
class RowFailure : public DataError {
 public:
  using DataError::DataError;
};

/// A failure of one row. Keeps the row, so that whoever answers a query over a part of a table can tell its position in
/// the whole table instead.
class RowError : public RowFailure {
 public:
  /// The message is `before`, the row and `after`.
  RowError(std::string before, RowId row, std::string after, const Location& location)
      : RowFailure(before + std::to_string(row) + after, location),
        before_(std::move(before)),
        after_(std::move(after)),
        row_(row) {}

  RowId row() const noexcept { return row_; }
  /// Returns the same error about another row.
  RowError renumbered(RowId row) const { return {before_, row, after_, location()}; }
  /// Returns the same failure of a row of the whole table, which nobody renumbers.
  RowFailure placed(RowId row) const { return RowFailure(before_ + std::to_string(row) + after_, location()); }

 private:
  std::string before_;
  std::string after_;
  RowId row_;
};

}  // namespace skyrank
