#pragma once

#include <skyrank/error.hpp>
#include <skyrank/query.hpp>

#include "engine/plan/rules.hpp"

namespace skyrank::exec {

/// BindError, at its place in the batch, for the first name in a forced path that no algorithm, parameter or rule
/// bears, and for a parameter that is out of the range of the algorithms that have it. `query` is the place of all
/// else.
void check_forced(const Using& path, const Location& query);

/// `rules` without those named too; BindError, at its place in the batch, for a name that no rule bears.
Rules without(Rules rules, const std::vector<std::string>& names, const std::map<std::string, Location>& locations = {},
              const Location& query = {});

}  // namespace skyrank::exec
