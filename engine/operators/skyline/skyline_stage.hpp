#pragma once

#include "engine/operators/candidates.hpp"
#include "engine/operators/execution.hpp"

namespace skyrank::exec {

/// Returns the candidates that the query's preference keeps; all of them without one. `context` has the statistics of
/// these rows, and `share` the keys that earlier queries left of them; null: they are not those that queries share.
Candidates prefer(Execution& execution, const SourceTable& source, RowSet rows, Segments segments,
                  const ExecutionContext& context, KeyShare* share);

}  // namespace skyrank::exec
