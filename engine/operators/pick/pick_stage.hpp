#pragma once

#include "engine/operators/candidates.hpp"
#include "engine/operators/execution.hpp"

namespace skyrank::exec {

/// Returns the rows that `pick` chooses in each segment of those that a preference kept of `all`.
Candidates pick(Execution& execution, const SourceTable& source, const Candidates& kept, const Candidates& all);

}  // namespace skyrank::exec
