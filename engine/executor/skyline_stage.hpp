#pragma once

#include "engine/executor/execution.hpp"
#include "engine/executor/stages.hpp"

// The preference of a query, and the filter that may come after it.
namespace skyrank::exec {

/// Returns the candidates that the query's preference keeps; all of them without one. `context` has the statistics of
/// these rows, and `share` the keys that earlier queries left of them; null: they are not those that queries share.
Candidates prefer(Execution& execution, const SourceTable& source, RowSet rows, Segments segments,
                  const ExecutionContext& context, KeyShare* share);

/// Returns the rows of a skyline that pass the filter, where this comes last. Those on the device stay there.
Candidates filter_last(Execution& execution, const SourceTable& source, Candidates candidates);

}  // namespace skyrank::exec
