#pragma once

#include <string>
#include <vector>

#include <skyrank/query.hpp>

#include "engine/query/yaml/tree.hpp"

namespace skyrank::query {

/// One entry of `queries:`. QueryError with the place of what is wrong; `tables` are the names that `from` may name.
Query read_query(const YamlDocument& document, const YamlNode& node, const std::vector<std::string>& tables);

/// Reads the value of `prefer`: a map or a list of maps.
Preference read_preference(const YamlDocument& document, const YamlNode& node);

}  // namespace skyrank::query
