#pragma once

#include <skyrank/error.hpp>
#include <skyrank/query.hpp>

#include "engine/plan/rules.hpp"
#include "engine/query/locations.hpp"

namespace skyrank::exec {

/// BindError, at its place in the batch, for the first algorithm or parameter of the query's forced path that does not
/// exist, that no operator of the query can use (a skyline algorithm without `prefer`, a top-k algorithm without
/// `rank_by`), or that is out of range for the algorithms that have it. What is forced is never ignored.
void check_forced(const Query& query);

/// `rules` without those named too; BindError, at its place in the batch, for a name that no rule bears.
Rules without(Rules rules, const std::vector<std::string>& names, const query::PathLocations& locations = {},
              const Location& query = {});

}  // namespace skyrank::exec
