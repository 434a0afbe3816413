#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <skyrank/engine.hpp>
#include <skyrank/table.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/parts/gpus/spread.hpp"
#include "engine/query/bound.hpp"

// Decides whether a table is answered in parts on GPUs: because its rows lie on several of them, because several are
// faster than one, or because it does not fit the memory of one.
namespace skyrank::exec {

/// The parts in which a table is answered.
struct GpuParts {
  /// One part for each GPU, which stays there; without them each GPU takes part after part.
  std::optional<TableParts> shares;
  std::int64_t rows_at_a_time = 0;  ///< rows of a part, where GPUs take one after the other
  std::string reason;               ///< why, in words
  bool as_team = false;             ///< the GPUs find one skyline together, each from its share (team.hpp)
};

/// Returns nothing where the table is answered as a whole.
std::optional<GpuParts> plan_gpu_parts(const EngineState& engine, const query::BoundQuery& query, const Table& table,
                                       const RunOptions& run);

/// Returns the parts of a table whose rows turned out not to fit the memory of a GPU at a time; nothing where the query
/// may not be answered in parts.
std::optional<GpuParts> smaller_parts(const EngineState& engine, const query::BoundQuery& query, const Table& table);

}  // namespace skyrank::exec
