#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include <skyrank/query.hpp>

#include "engine/query/yaml/tree.hpp"

// Queries of a YAML batch. Each key is read on its own, so that one pass collects the mistakes of all keys, with their
// places; a query that has one is dropped.
namespace skyrank::query {

/// The names of a batch's tables, as they are listed and as they are looked up.
struct TableNames {
  std::vector<std::string> listed;
  std::unordered_set<std::string> known;
};

/// One entry of `queries:`. QueryError with the place of what is wrong; `tables` are the names that `from` may name.
Query read_query(const YamlDocument& document, const YamlNode& node, const TableNames& tables);

/// Reads the value of `prefer`: a map or a list of maps.
Preference read_preference(const YamlDocument& document, const YamlNode& node);

}  // namespace skyrank::query
