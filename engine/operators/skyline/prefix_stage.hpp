#pragma once

#include <optional>

#include <skyrank/engine.hpp>
#include <skyrank/table.hpp>

#include "engine/operators/execution.hpp"

// A strategy that answers a query without all of its stages.
namespace skyrank::exec {

/// Returns the first rows of a skyline by looking for them among the best rows of its ranking. Returns nothing where
/// too few of these are in the skyline.
std::optional<Result> rank_skyline_prefix(Execution& execution, const Table& input);

}  // namespace skyrank::exec
