#pragma once

#include <skyrank/engine.hpp>
#include <skyrank/table.hpp>

#include "engine/keys/key_cache.hpp"
#include "engine/operators/execution.hpp"

// Runs a physical plan.
namespace skyrank::exec {

/// Connects the query with the cache: it uses keys of earlier queries, and adds its own.
void share_keys(Execution& execution, const Table& input, KeyCache& shared);

/// Answers the query by its plan's strategy, or by the fallback if the strategy's guess turns out wrong.
Result execute(Execution& execution, const Table& input);

/// Records how many columns and keys earlier queries had left.
void note_sharing(Execution& execution);

}  // namespace skyrank::exec
