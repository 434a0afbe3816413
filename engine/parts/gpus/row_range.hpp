#pragma once

#include <skyrank/table.hpp>
#include <skyrank/types.hpp>

namespace skyrank::exec {

/// Returns the rows [begin, end) of a column, without copying them.
Column rows_of(const Column& column, RowId begin, RowId end);

/// Returns the rows [begin, end) of a table, without copying them.
Table rows_of(const Table& table, RowId begin, RowId end);

}  // namespace skyrank::exec
