#pragma once

#include <cstdint>
#include <optional>

#include <skyrank/engine.hpp>

#include "engine/operators/candidates.hpp"
#include "engine/operators/execution.hpp"

namespace skyrank::exec {

/// Makes the answer of the rows at `positions`, or of all candidates.
Result gather(Execution& execution, const SourceTable& source, const Candidates& candidates,
              std::optional<Vector<std::int64_t>> positions);

}  // namespace skyrank::exec
