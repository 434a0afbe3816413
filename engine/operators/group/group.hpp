#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/expression/evaluate.hpp"
#include "engine/operators/group/slots/classes.hpp"
#include "engine/row_error.hpp"

// Groups and aggregates the rows of a table on the host.
namespace skyrank::exec {

/// The table that `group_by` derives, one row a group, in order of the groups' first rows.
struct Grouped {
  Table table;               ///< the group columns (values of the first row), then the aggregates
  Vector<RowId> first_rows;  ///< per group: its first row in the input; ascending
  std::string numbering;     ///< how rows were given the numbers of their groups, as explain shows it
  /// Number of all groups, if groups that cannot be among the best are not in the table.
  std::optional<std::int64_t> num_groups = std::nullopt;
};

/// Groups `rows` of a table. NULLs form one group, NaNs one, and -0.0 goes with 0.0; no columns make one group of all
/// rows, which is there without rows too (kNoRow). Aggregates skip NULLs; sum, min, max and avg of nothing are NULL.
/// Sums are exact, those of floats rounded once. min and max ignore NaN where there are numbers. DataError for a sum
/// that overflows, naming the group's first row.
Grouped group(const query::BoundGroup& group, const Table& table, const Rows& rows,
              Numbering numbering = Numbering::by_values);

/// First row of the group of all rows where no row is.
inline constexpr RowId kNoRow = -1;

/// Returns the one group of a query without keys over no rows: 0 for counts, NULL for other aggregates, in the types
/// that they have in `no_groups`, a table of the aggregates without rows.
Table group_without_rows(const query::BoundGroup& group, const Table& no_groups);

/// Returns the values of an aggregate's argument at some rows: the stored column where it is already what evaluation
/// would give.
Column argument_of(const query::BoundAggregate& aggregate, const Table& table, const Rows& rows);

/// Returns the error of a sum that its type does not hold. `row` is the first one of the group.
RowError sum_overflow(const query::BoundAggregate& aggregate, RowId row);

}  // namespace skyrank::exec
