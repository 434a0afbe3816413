#pragma once

#include <optional>

#include <skyrank/engine.hpp>
#include <skyrank/table.hpp>

#include "engine/operators/execution.hpp"

// A strategy that answers a query without all of its stages.
namespace skyrank::exec {

/// Returns the best rows of a table by one pass that filters, makes keys and ranks. Always answers.
std::optional<Result> rank_fused(Execution& execution, const Table& input);

}  // namespace skyrank::exec
