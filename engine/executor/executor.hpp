#pragma once

#include <skyrank/engine.hpp>
#include <skyrank/table.hpp>

#include "engine/executor/execution.hpp"
#include "engine/keys/key_cache.hpp"

// Runs a physical plan.
namespace skyrank::exec {

/// Lets the query have keys of earlier ones, and leave its own for later ones.
void share_keys(Execution& execution, const Table& input, KeyCache& shared);

/// Answers the query: by a shortcut where its plan has one that serves, else stage by stage.
Result execute(Execution& execution, const Table& input);

/// Notes in the plan how many columns and keys were there from earlier queries.
void note_sharing(Execution& execution);

}  // namespace skyrank::exec
