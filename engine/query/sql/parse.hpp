#pragma once

#include <string_view>

#include <skyrank/query.hpp>

#include "engine/query/ast.hpp"

namespace skyrank::query {

/// A parsed statement, and the place of the table's name, which a query does not hold.
struct SqlStatement {
  Query query;
  Location table;
};

/// Parses one statement; QueryError with the places that `place` says.
SqlStatement parse_sql(std::string_view sql, const PlaceFunction& place);

}  // namespace skyrank::query
