#pragma once

#include "engine/operators/candidates.hpp"
#include "engine/operators/execution.hpp"

namespace skyrank::exec {

/// Replaces the input by its groups; afterwards all rows of the derived table are candidates.
SourceTable group_rows(Execution& execution, const Table& input, RowSet& rows);

}  // namespace skyrank::exec
