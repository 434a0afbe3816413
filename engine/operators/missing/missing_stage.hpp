#pragma once

#include "engine/operators/candidates.hpp"
#include "engine/operators/execution.hpp"

namespace skyrank::exec {

/// Returns the rows that `nan` and `nulls` leave.
RowSet apply_missing_rules(Execution& execution, const SourceTable& source, RowSet rows);

}  // namespace skyrank::exec
