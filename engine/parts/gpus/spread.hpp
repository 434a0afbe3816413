#pragma once

#include <optional>
#include <vector>

#include <skyrank/table.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/plan/query_plan.hpp"

// Tables whose rows lie on several GPUs: each has an equal share of consecutive rows.
namespace skyrank::exec {

/// Splits a table into an equal share of rows for each GPU of the engine. Equal calls give the same views, with what
/// queries have found in them.
TableParts split_over_gpus(const EngineState& engine, const Table& table);

/// Returns the parts of a table as Engine::pin has spread those of its `columns` that have a device form; nothing where
/// there are none, or they lie on other GPUs than the engine's.
std::optional<TableParts> spread_parts(const EngineState& engine, const Table& table, const std::vector<int>& columns);

/// The same table, whose columns that have a device form keep the rows of each part on its GPU: once a query has needed
/// them or, with `now`, from now on. Throws ResourceError where they do not fit; nothing is then left there.
Table spread_over_gpus(const EngineState& engine, const Table& table, bool now);

}  // namespace skyrank::exec
