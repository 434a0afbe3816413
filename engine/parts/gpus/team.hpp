#pragma once

#include <optional>
#include <string>

#include <skyrank/engine.hpp>
#include <skyrank/query.hpp>
#include <skyrank/table.hpp>

#include "engine/executor/engine_state.hpp"
#include "engine/executor/limits.hpp"
#include "engine/parts/gpus/spread.hpp"
#include "engine/plan/physical_plan.hpp"

// Skylines of tables in shares on several GPUs, found by all of them together (kernels/cuda/skyline/team.hpp). Partial
// skylines help only where they leave few rows; a team divides the comparisons of all rows instead.
namespace skyrank::exec {

/// The algorithm that teams run.
inline constexpr const char* kTeamAlgorithm = "cuda-blocked-bitmap";

/// Says why a query cannot be answered by a team; nothing where it can, as far as its plan tells.
std::optional<std::string> why_no_team(const PhysicalPlan& plan);

/// The answer of a team, and how it came about.
struct TeamAnswer {
  std::optional<Result> result;  ///< without its plan's parts; nothing where the team could not find it
  std::string why_not;           ///< why there is none
  std::int64_t compared = 0;     ///< rows that GPUs compared with those of others
  double ms = 0;                 ///< time until all rows of the skyline were known
};

/// Answers a query whose plan has no reason against a team. What follows the skyline is computed on the host, by
/// `host_query`, the same query for the CPU. Throws as a run of the query does, but for want of memory.
TeamAnswer answer_as_team(const EngineState& state, const query::BoundQuery& host_query, const Table& table,
                          const RunOptions& options, const TableParts& shares, Limits& limits);

}  // namespace skyrank::exec
