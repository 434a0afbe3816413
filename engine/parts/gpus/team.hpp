#pragma once

#include <functional>
#include <optional>
#include <string>

#include <skyrank/engine.hpp>
#include <skyrank/query.hpp>
#include <skyrank/table.hpp>

#include "engine/executor/query_context.hpp"
#include "engine/plan/physical_plan.hpp"
#include "engine/plan/query_plan.hpp"

// Skylines of tables in shares on several GPUs, found by all of them together (kernels/cuda/skyline/team.hpp). Partial
// skylines help only where they leave few rows; a team divides the comparisons of all rows instead.
namespace skyrank::exec {

/// The algorithm that teams run.
inline constexpr const char* kTeamAlgorithm = "cuda-blocked-bitmap";

/// Says why a query cannot be answered by a team; nothing where it can, as far as its plan tells.
std::optional<std::string> why_no_team(const PhysicalPlan& plan);

/// The answer of a team.
struct TeamAnswer {
  std::optional<Result> result;  ///< nothing where the team could not find it
  std::string why_not;           ///< why there is none
};

/// The record of a team.
struct TeamRecord {
  std::int64_t compared = 0;  ///< rows that GPUs compared with those of others
  double ms = 0;              ///< time until all rows of the skyline were known
  Transferred transferred;
};

/// Answers a query whose plan has no reason against a team, over the plan's parts. What follows the skyline is computed
/// on the host, by `host_query`, the same query for the CPU; its plan shows below its scan what `origin` says. Throws
/// as a run of the query does, but for want of memory.
TeamAnswer answer_as_team(const QueryContext& context, const query::BoundQuery& host_query, const Table& table,
                          const TableParts& shares, const std::function<TableOrigin(const TeamRecord&)>& origin);

}  // namespace skyrank::exec
