#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/query.hpp>
#include <skyrank/table.hpp>

#include "engine/query/ast.hpp"

// A text that stands where a column or an expression may stand is the column of exactly this name if there is one.
// Names are known only when a query meets its table, so that expressions keep their texts until then.
namespace skyrank::query {

/// Parses an expression that keeps its text.
NodePtr parse_written(std::string_view text, const PlaceFunction& place);

/// Parses a text that is likely to be a column's name where it is no expression, such as "Unit Price": it then stands
/// for the column and keeps the error, which binding throws where there is no such column. Throws QueryError for what
/// looks like an expression that was cut short.
NodePtr parse_name_or_expression(std::string_view text, const PlaceFunction& place);

/// The same for a text of its own, with places in it.
Expression name_or_expression(std::string_view text);

/// Returns the query with expressions whose texts are names of columns as these columns; nothing where there is none.
/// Clauses behind `group_by` see the columns of the groups.
std::optional<Query> with_written_names(const Query& query, const std::vector<std::string>& columns);

/// The same for the columns of a table, those that SkyRank cannot read too.
std::optional<Query> with_written_names(const Query& query, const Table& table);

/// Names the keys over the table alone, those that are given no name. An expression among them has a column of its text
/// in partial answers, so that these cannot tell which of the two a key was.
Query with_written_keys(const Query& query, const Table& table);

/// Names all clauses but the keys over the table.
Query with_written_clauses(const Query& query, const Table& table);

}  // namespace skyrank::query
