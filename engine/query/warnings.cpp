#include <skyrank/warnings.hpp>

#include <algorithm>
#include <utility>

#include "engine/query/ast.hpp"
#include "engine/query/left_out_columns.hpp"
#include "engine/query/locations.hpp"

namespace skyrank {
inline namespace v0 {
namespace {

using query::Node;
using query::NodePtr;
using query::Op;
using query::place_of;

bool is_null(const NodePtr& node) { return node->op == Op::literal && std::holds_alternative<Null>(node->value); }

class Collector {
 public:
  void add(const Expression& expression) { visit(query::root_of(expression), expression.location()); }

  void add(const Preference& preference) {
    if (preference.expression) add(*preference.expression);
    for (const Preference& child : preference.children) add(child);
  }

  std::vector<Warning> warnings() && { return std::move(warnings_); }

 private:
  void visit(const Node& node, const Location& origin) {
    if (query::is_comparison(node.op) && std::any_of(node.children.begin(), node.children.end(), is_null)) {
      warnings_.push_back({comparison_with_null(node), place_of(node, origin)});
    }
    for (const NodePtr& child : node.children) visit(*child, origin);
  }

  static std::string comparison_with_null(const Node& node) {
    const Node& value = *node.children[is_null(node.children[0]) ? 1 : 0];
    const std::string test = node.op == Op::not_equal ? " is not null" : " is null";
    return "'" + to_text(node) + "' is NULL for every row, never true; to find NULLs write '" + to_text(value) + test +
           "'";
  }

  std::vector<Warning> warnings_;
};

}  // namespace

std::string to_string(const Warning& warning) {
  const std::string place = to_string(warning.location);
  return place.empty() ? warning.message : place + ": " + warning.message;
}

std::vector<Warning> warnings_of(const Query& query) {
  Collector found;
  if (query.where()) found.add(*query.where());
  for (const Aggregate& aggregate : query.aggregate()) {
    if (aggregate.argument) found.add(*aggregate.argument);
  }
  if (query.prefer()) found.add(*query.prefer());
  for (const RankTerm& term : query.rank_by()) found.add(term.expression);
  for (const SelectItem& item : query.select()) found.add(item.expression);
  return std::move(found).warnings();
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
  if (columns.empty() || !query.select().empty() || !query.group_by().empty()) return std::nullopt;
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
