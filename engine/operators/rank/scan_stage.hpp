#pragma once

#include <optional>

#include <skyrank/engine.hpp>
#include <skyrank/table.hpp>

#include "engine/operators/execution.hpp"

// A strategy that answers a query without all of its stages.
namespace skyrank::exec {

/// Returns the best rows of a table by one scan of the columns on the device, which filters and ranks. Returns nothing
/// where the scan cannot read the columns as they are.
std::optional<Result> rank_scanned(Execution& execution, const Table& input);

}  // namespace skyrank::exec
