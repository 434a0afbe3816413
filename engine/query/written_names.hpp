#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/query.hpp>
#include <skyrank/table.hpp>

#include "engine/query/ast.hpp"

// A text that stands where a column or an expression may stand is the column of exactly this name if there is one.
// Names are known only when a query meets its table, so that expressions keep their texts until then. The query itself
// stays as it is: whatever reads its expressions asks for them as they are named.
namespace skyrank::query {

/// Parses an expression that keeps its text.
NodePtr parse_written(std::string_view text, const PlaceFunction& place);

/// Parses a text that is likely to be a column's name where it is no expression, such as "Unit Price": it then stands
/// for the column and keeps the error, which binding throws where there is no such column. Throws QueryError for what
/// looks like an expression that was cut short.
NodePtr parse_name_or_expression(std::string_view text, const PlaceFunction& place);

/// The same for a text of its own, with places in it.
Expression name_or_expression(std::string_view text);

/// Returns true for the names of columns.
using NameTest = std::function<bool(const std::string&)>;

/// Returns a test for the columns of a table, which outlives it, those that SkyRank cannot read too.
NameTest names_of(const Table& table);

/// The same for columns with `names`, and others that cannot be read.
NameTest names_of(const std::vector<std::string>& names, const std::vector<UnsupportedColumn>& unsupported = {});

/// Returns an expression in which texts that are names of columns are these columns.
Expression named(const Expression& expression, const NameTest& is_column);

/// The same of a key. Without a name of its own it has that of its column.
GroupKey named(const GroupKey& key, const NameTest& is_column);

/// Returns the keys over the table: those of the groups, or else of the partitions.
const std::vector<GroupKey>& keys_of_table(const Query& query);

/// The same with texts as the columns that they name.
std::vector<GroupKey> named_keys(const Query& query, const NameTest& is_column);

}  // namespace skyrank::query
