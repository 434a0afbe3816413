#pragma once

#include "engine/operators/candidates.hpp"
#include "engine/operators/execution.hpp"
#include "engine/operators/skyline/skyline.hpp"

namespace skyrank::exec {

/// The rows from which a preference chose, for measures of those that it kept. Empty for queries without measures.
struct ChosenFrom {
  RowSet rows = RowSet::all(0);
  Segments segments;
  SkylineKeys keys;             ///< segment by segment
  Vector<std::int64_t> places;  ///< place among the keys of each candidate that was kept
};

/// Returns the candidates that the query's preference keeps; all of them without one. `context` has the statistics of
/// these rows, and `share` the keys that earlier queries left of them; null: they are not those that queries share.
Candidates prefer(Execution& execution, const SourceTable& source, RowSet rows, Segments segments,
                  const ExecutionContext& context, KeyShare* share, ChosenFrom* from = nullptr);

}  // namespace skyrank::exec
