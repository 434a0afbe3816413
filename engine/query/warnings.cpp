#include <skyrank/warnings.hpp>

#include <algorithm>
#include <utility>

#include "engine/query/ast.hpp"
#include "engine/query/expressions.hpp"
#include "engine/query/left_out_columns.hpp"
#include "engine/query/locations.hpp"

// Finds what a query may say but hardly means.
namespace skyrank {
inline namespace v0 {
namespace {

using query::Node;
using query::NodePtr;
using query::Op;
using query::place_of;

bool is_null(const NodePtr& node) { return node->op == Op::literal && std::holds_alternative<Null>(node->value); }

std::string comparison_with_null(const Node& node) {
  const Node& value = *node.children[is_null(node.children[0]) ? 1 : 0];
  const std::string test = node.op == Op::not_equal ? " is not null" : " is null";
  return "'" + to_text(node) + "' is NULL for every row, never true; to find NULLs write '" + to_text(value) + test +
         "'";
}

void add_warnings(const Node& node, const Location& origin, std::vector<Warning>& warnings) {
  if (query::is_comparison(node.op) && std::any_of(node.children.begin(), node.children.end(), is_null)) {
    warnings.push_back({comparison_with_null(node), place_of(node, origin)});
  }
  for (const NodePtr& child : node.children) add_warnings(*child, origin, warnings);
}

}  // namespace

std::string to_string(const Warning& warning) {
  const std::string place = to_string(warning.location);
  return place.empty() ? warning.message : place + ": " + warning.message;
}

std::vector<Warning> warnings_of(const Query& query) {
  std::vector<Warning> warnings;
  const auto look = [&](const Expression& expression) {
    add_warnings(query::root_of(expression), expression.location(), warnings);
  };
  if (query.where()) look(*query.where());
  query::for_each_argument(query, look);
  query::for_each_of_answer(query, look);
  return warnings;
}

std::vector<Warning> warnings_of(const Query& query, const Table& table) {
  std::vector<Warning> warnings = warnings_of(query);
  if (auto left_out = query::left_out_columns(query, table)) warnings.push_back(*std::move(left_out));
  return warnings;
}

std::optional<Warning> left_out_columns(const Query& query, const Table& table) {
  return query::left_out_columns(query, table);
}

}  // namespace v0

std::optional<Warning> query::left_out_columns(const Query& query, const Table& table) {
  const std::vector<UnsupportedColumn>& columns = table.unsupported();
  if (columns.empty() || !query.select().empty() || query.has_groups()) return std::nullopt;
  std::string list;
  for (const UnsupportedColumn& column : columns) {
    list += (list.empty() ? "" : ", ") + column.name + " (" + column.type +
            (column.reason.empty() ? ")" : "; " + column.reason + ")");
  }
  return Warning{"left out of " + (query.from().empty() ? "the table" : query.from()) + ": " + list +
                     ": skyrank cannot read " + (columns.size() == 1 ? "its type" : "their types"),
                 query::location_of(query)};
}

}  // namespace skyrank
