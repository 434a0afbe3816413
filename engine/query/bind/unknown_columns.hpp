#pragma once

#include <string>
#include <vector>

#include <skyrank/query.hpp>

namespace skyrank::query {

/// Returns true if a query reads a column of its input that is none of `table_columns`.
bool names_unknown_column(const Query& query, const std::vector<std::string>& table_columns);

}  // namespace skyrank::query
