#pragma once

#include "engine/operators/candidates.hpp"
#include "engine/operators/execution.hpp"

namespace skyrank::exec {

/// Returns the rows that pass the query's condition; all of them where the filter comes last.
RowSet filter_rows(Execution& execution, const Table& input);

/// Returns the groups that pass the query's condition on groups.
RowSet filter_groups(Execution& execution, const SourceTable& source, RowSet groups);

/// Returns the rows of a skyline that pass the filter, where this comes last. Those on the device stay there.
Candidates filter_last(Execution& execution, const SourceTable& source, Candidates candidates);

}  // namespace skyrank::exec
