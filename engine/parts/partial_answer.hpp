#pragma once

#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/partial.hpp>

#include "engine/executor/engine_state.hpp"

namespace skyrank::exec {

/// Does what Engine::partial does, and gives how: the results of the queries over the part, without their tables.
Partial partial_answer(const Engine& engine, const EngineState& state, const Query& query, const Table& part,
                       RowId first_row, const RunOptions& options, std::vector<Result>* runs = nullptr);

}  // namespace skyrank::exec
