#pragma once

#include <string>
#include <vector>

#include <skyrank/query.hpp>
#include <skyrank/table.hpp>

#include "engine/query/bound.hpp"

// Groups and partitions by expressions: the expressions become columns behind those of the table, under their names or
// else their texts. So whatever plans and runs a bound query sees columns alone.
namespace skyrank::query {

/// A key that is an expression over the table.
struct BoundKey {
  std::string name;
  BoundExpression value;
};

/// A query that is bound to its table with the keys as columns behind those of the table.
struct KeyedQuery {
  BoundQuery query;
  std::vector<BoundKey> keys;  ///< none: the query is bound to the table as it is
};

/// Binds a query to the columns of a table, whose names texts may be. Throws what `bind` throws, and BindError where
/// the query names a column that SkyRank cannot read, or a key is named like a column.
KeyedQuery bind_with_keys(const Query& query, const Table& table);

}  // namespace skyrank::query
