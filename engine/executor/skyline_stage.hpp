#pragma once

#include "engine/executor/execution.hpp"
#include "engine/executor/stages.hpp"

// The preference of a query, and the filter that may come after it.
namespace skyrank::exec {

/// Returns the candidates that the query's preference keeps; all of them without one.
Candidates prefer(Execution& execution, const SourceTable& source, RowSet rows, Segments segments);

/// Returns the rows of a skyline that pass the filter, where this comes last. Those on the device stay there.
Candidates filter_last(Execution& execution, const SourceTable& source, Candidates candidates);

}  // namespace skyrank::exec
