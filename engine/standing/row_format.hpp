#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include <skyrank/query.hpp>
#include <skyrank/standing.hpp>
#include <skyrank/table.hpp>

#include "engine/decimal.hpp"
#include "engine/query/bind/keys.hpp"
#include "engine/query/bound.hpp"

namespace skyrank::exec {

/// The time of a row that has none, before all others. Times are nanoseconds since 1970.
inline constexpr Int128 kNoTime = -(Int128{1} << 126);

/// The columns that a standing query takes, and those of them that it keeps.
class RowFormat {
 public:
  /// Throws as the constructor of StandingQuery.
  RowFormat(const Query& query, const Table& schema, const StandingWindow& window);

  /// Returns the query, whose limits hold for all calls.
  const Query& query() const { return query_; }
  /// Returns a table without rows that has the columns of the schema.
  const Table& schema() const { return schema_; }
  /// Returns the query over the columns that are kept. `ties: any` has become `first`.
  const query::BoundQuery& bound() const { return bound_; }
  /// Returns a table without rows that has the columns that are kept.
  const Table& no_rows() const { return no_rows_; }
  /// Returns true if rows have times.
  bool has_times() const { return time_column_.has_value(); }

  /// Returns the rows with the columns of the schema, in its order. BindError where they have others.
  Table checked(const Table& rows) const;
  /// Returns the columns that are kept of checked rows, without copying those of the schema. `id_of` gives the id of a
  /// row, for errors.
  Table kept(const Table& rows, const std::function<RowId(RowId)>& id_of) const;
  /// Returns the times of checked rows; none without a window by time.
  std::vector<Int128> times(const Table& rows) const;

 private:
  Query query_;
  Table schema_;  // no rows
  std::optional<int> time_column_;
  std::vector<int> read_;    // of the columns of the schema and those of keys
  query::KeyedQuery keyed_;  // bound to the schema
  query::BoundQuery bound_;
  Table no_rows_;
};

/// Returns the bytes of memory that a table's columns take.
std::size_t bytes_of(const Table& table);

}  // namespace skyrank::exec
