#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/expression/evaluate.hpp"

// Copies the values of columns at some rows, and puts tables together from columns.
namespace skyrank::exec {

/// The values of `column` at `rows`, in that order, with the column's type and the stored bits; -1 gives NULL. The
/// result owns its memory. Strings of any layout come back as utf8 (large_utf8 beyond 2 GiB), booleans as bytes.
Column gather(const Column& column, std::span<const RowId> rows, std::string name);

/// All values of a column, as above.
Column gather_all(const Column& column);

/// Some columns of a table, without copying them.
Table chosen_columns(const Table& table, std::span<const int> which);

/// A table with all columns of a schema, of which those in `which` have the values of the columns of `read`, in their
/// order, and the others none.
Table in_schema(const Table& schema, const Table& read, std::span<const int> which);

/// The columns of a table without a row of it.
Table without_rows(const Table& schema);

/// The rows of a table at `rows`, in that order: each column as above.
Table gather(const Table& table, std::span<const RowId> rows);

/// The rows of a table, of which only the columns `read` have values; all others are NULL.
Table gather_read(const Table& table, const std::vector<int>& read, std::span<const RowId> rows);

/// Returns true if a column of `columns` has its values on a GPU and not on the host.
bool any_device_only(const Table& table, const std::vector<int>& columns);

/// The values of an expression at `rows` (distinct, in any order): the stored values of a plain column, else values of
/// the evaluation type. DataError names the lowest row on which the expression fails.
Column gather(const query::BoundExpression& expression, const Table& table, std::span<const RowId> rows,
              std::string name);

/// A column of row ids.
Column row_column(std::span<const RowId> rows, std::string name);

/// Indices 0, 1, ... that sort distinct numbers ascending; empty when they are ascending already.
Vector<std::int64_t> ascending_order(std::span<const std::int64_t> numbers);

}  // namespace skyrank::exec
