#pragma once

#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/partial.hpp>
#include <skyrank/source.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/parts/states/state_kind.hpp"

namespace skyrank::exec {

/// Does what Engine::partial does, and gives how: the results of the queries over the part, without their tables.
Partial partial_answer(const Engine& engine, const EngineState& state, const Query& query, const Table& part,
                       RowId first_row, const RunOptions& options, std::vector<Result>* runs = nullptr);

/// The same for the rows of a part that may be in the answer. `rows` has their positions in the whole table; the part
/// `covers` them and others. The query has no expressions for keys of groups or partitions.
Partial partial_answer(const Engine& engine, const EngineState& state, const Query& query, const StateRows& rows,
                       RowRange covers, const RunOptions& options, std::vector<Result>* runs = nullptr);

/// The same for a source in place of a table, by units where that needs less memory.
Partial partial_of_source(const Engine& engine, const EngineState& state, const Query& query, const Source& part,
                          RowId first_row, const RunOptions& options);

}  // namespace skyrank::exec
