#pragma once

#include <optional>

#include <skyrank/engine.hpp>
#include <skyrank/table.hpp>

#include "engine/executor/execution.hpp"

// Strategies that answer a query without all of its stages.
namespace skyrank::exec {

/// Returns the best rows of a table by one pass that filters, makes keys and ranks. Always answers.
std::optional<Result> rank_fused(Execution& execution, const Table& input);

/// Returns the best rows of a table by one scan of the columns on the device, which filters and ranks. Returns nothing
/// where the scan cannot read the columns as they are.
std::optional<Result> rank_scanned(Execution& execution, const Table& input);

/// Returns the first rows of a skyline by looking for them among the best rows of its ranking. Returns nothing where
/// too few of these are in the skyline.
std::optional<Result> rank_skyline_prefix(Execution& execution, const Table& input);

}  // namespace skyrank::exec
