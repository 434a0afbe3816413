#pragma once

#include <optional>

#include <skyrank/engine.hpp>
#include <skyrank/table.hpp>

#include "engine/executor/execution.hpp"

// Strategies that answer a query without all of its stages.
namespace skyrank::exec {

/// Returns the best rows of a table by a ranking that takes the filter and the making of keys in. Always answers.
std::optional<Result> rank_fused(Execution& execution, const Table& input);

/// Returns the best rows of a table by a ranking that scans the columns on the device, filter and all; nothing where
/// the query is no such scan.
std::optional<Result> rank_scanned(Execution& execution, const Table& input);

/// Returns the first of a skyline among the best rows of its ranking; nothing where these turn out to be too few.
std::optional<Result> rank_skyline_prefix(Execution& execution, const Table& input);

}  // namespace skyrank::exec
