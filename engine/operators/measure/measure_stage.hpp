#pragma once

#include "engine/operators/candidates.hpp"
#include "engine/operators/execution.hpp"
#include "engine/operators/skyline/skyline_stage.hpp"

namespace skyrank::exec {

/// Adds the query's measures to the candidates that its preference kept of `from`, rows of `source`.
Candidates measure(Execution& execution, const SourceTable& source, const ChosenFrom& from, Candidates candidates);

}  // namespace skyrank::exec
