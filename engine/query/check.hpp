#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <skyrank/query.hpp>

// Rules that the builder and the YAML reader share. QueryError, without a place unless said otherwise.
namespace skyrank::query {

/// Checks one preference without its children's insides: it has the parts its kind needs, ranges are not upside down,
/// sets are not empty and no value comes twice.
void check_node(const Preference& preference);

/// Checks that a tree has at most kMaxNesting (ast.hpp) levels, from level `depth` on.
void check_depth(const Preference& preference, int depth = 1);

/// Checks a whole tree: every node, its depth, and that it has at most 64 dimensions.
void check_tree(const Preference& preference);

/// Returns the ratio that a text such as "10%" says; nothing for other values.
std::optional<Decimal> ratio_of(const Value& size);

/// Checks the size of the boxes of a term, or their ratio; QueryError, which shows it as `written`, for what is none.
void check_box_size(const Value& size, bool is_ratio, const Value& written);

/// Checks what a pick says without its query: its number of rows, and that a reference is there where it counts.
void check_pick(const Pick& pick);

/// Returns the preference that a list under `prefer` means: all count equally; one alone is itself.
Preference combined(std::vector<Preference> preferences);

/// The expression of a `low` or `high` term; QueryError for any other preference.
const Expression& ranked_expression(const Preference& preference);

/// The name an expression's output column has by default: the column's, else the canonical text.
std::string output_name(const Expression& expression);

/// Checks the names of aggregates, of keys over the table, and of the partitions of groups.
void check_keys(const Query& query, const std::vector<GroupKey>& keys_of_table);

/// Letters, digits, '-', '_' and '.', not starting with '.'; QueryError otherwise.
void check_query_name(std::string_view name);

}  // namespace skyrank::query
