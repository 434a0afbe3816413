#pragma once

#include <optional>

#include <skyrank/warnings.hpp>

namespace skyrank::query {

/// Returns a warning that names the columns of the table's source which the answer lacks (Table::unsupported), where
/// the query selects every column; nothing where it does not or where none are missing.
std::optional<Warning> left_out_columns(const Query& query, const Table& table);

}  // namespace skyrank::query
