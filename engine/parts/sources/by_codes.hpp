#pragma once

#include <optional>
#include <string>

#include <skyrank/engine.hpp>
#include <skyrank/source.hpp>

#include "engine/parts/sources/by_parts.hpp"
#include "engine/parts/states/query_state.hpp"
#include "engine/plan/query_plan.hpp"

namespace skyrank::exec {

/// Returns the column of groups of a query that can be read as codes: the only one, which nothing else reads.
std::optional<int> coded_column(const query::BoundQuery& query, const Source& source);

/// Answers a query from units that threads group by the codes of `plan.coded` as they are read. Row ids and errors are
/// those of the whole table. Returns nothing, and says why, where units have no codes or almost as many values as rows,
/// or memory does not suffice: whole columns, or fewer units at a time, are then the better way. Throws what the source
/// and Engine::run throw.
std::optional<Result> answer_by_codes(const StateSteps& steps, const Source& source, const QueryPlan& plan,
                                      const OriginOfParts& origin, std::string& why_not);

}  // namespace skyrank::exec
