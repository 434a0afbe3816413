#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/query/bind/unknown_columns.hpp"
#include "engine/query/bound.hpp"
#include "engine/query/locations.hpp"

// The columns of the input that a query reads. The same walk over its expressions finds columns that cannot be read,
// and names that the table lacks.
namespace skyrank::query {
namespace {

// The columns of bound expressions.
class Indices {
 public:
  void add(const BoundNode& node) {
    if (node.op == Op::column) indices_.insert(node.column);
    for (const BoundPtr& child : node.children) add(*child);
  }
  void add(const BoundExpression& expression) { add(*expression.root); }
  void add(const BoundPreference& preference) {
    if (preference.expression.root) add(preference.expression);
    for (const BoundPreference& child : preference.children) add(child);
  }
  void add(const std::vector<int>& columns) { indices_.insert(columns.begin(), columns.end()); }

  std::vector<int> ascending() const { return {indices_.begin(), indices_.end()}; }

 private:
  std::set<int> indices_;
};

void add_group(const BoundGroup& group, Indices& read) {
  read.add(group.columns);
  for (const BoundAggregate& aggregate : group.aggregates) {
    if (aggregate.argument) read.add(*aggregate.argument);
  }
}

void add_answer(const BoundQuery& query, Indices& read) {
  read.add(query.partition_columns);
  if (query.preference) read.add(*query.preference);
  for (const BoundRankTerm& term : query.ranking) read.add(term.expression);
  for (const BoundOutput& output : query.outputs) {
    if (output.kind == BoundOutput::Kind::expression) read.add(output.expression);
  }
}

// The column names of expressions.
class NamesRead {
 public:
  void add(const Node& node) {
    if (node.op == Op::column) names_.insert(node.name);
    for (const NodePtr& child : node.children) add(*child);
  }
  void add(const std::string& name) { names_.insert(name); }

  bool contains(const std::string& name) const { return names_.count(name) != 0; }

 private:
  std::set<std::string> names_;
};

using NameSet = std::unordered_set<std::string_view>;

/// Expressions in the order in which a person reads them.
class Expressions {
 public:
  void add(const Expression& expression) { found_.push_back(&expression); }
  void add(const std::vector<GroupKey>& keys) {
    for (const GroupKey& key : keys) add(key.expression);
  }
  void add(const Preference& preference) {
    if (preference.expression) add(*preference.expression);
    for (const Preference& child : preference.children) add(child);
  }

  std::vector<const Expression*> found() && { return std::move(found_); }

 private:
  std::vector<const Expression*> found_;
};

const std::vector<GroupKey>& keys_of_input(const Query& query) {
  return query.group_by().empty() ? query.partition_by() : query.group_by();
}

void add_aggregates(const Query& query, Expressions& read) {
  for (const Aggregate& aggregate : query.aggregate()) {
    if (aggregate.argument) read.add(*aggregate.argument);
  }
}

void add_answer(const Query& query, Expressions& read) {
  if (query.prefer()) read.add(*query.prefer());
  for (const RankTerm& term : query.rank_by()) read.add(term.expression);
  for (const SelectItem& item : query.select()) read.add(item.expression);
}

/// The condition and the keys: they see columns of the input alone.
std::vector<const Expression*> first_expressions(const Query& query) {
  Expressions read;
  if (query.where()) read.add(*query.where());
  read.add(keys_of_input(query));
  return std::move(read).found();
}

/// The other expressions over columns of the input and of the keys. Those of a query with groups are over the groups
/// from the preference on.
std::vector<const Expression*> later_expressions(const Query& query) {
  Expressions read;
  if (query.group_by().empty()) {
    add_answer(query, read);
  } else {
    add_aggregates(query, read);
  }
  return std::move(read).found();
}

std::vector<const Expression*> expressions_of_input(const Query& query) {
  std::vector<const Expression*> all = first_expressions(query);
  const std::vector<const Expression*> later = later_expressions(query);
  all.insert(all.end(), later.begin(), later.end());
  return all;
}

bool names_other_column(const Node& node, const NameSet& columns) {
  if (node.op != Op::column) {
    return std::ranges::any_of(node.children,
                               [&](const NodePtr& child) { return names_other_column(*child, columns); });
  }
  const bool is_pseudo = is_pseudo_column(node.name) && !node.exact;
  return !is_pseudo && !columns.contains(node.name);
}

/// The first place, in the order of the text, at which one of some columns is named.
const Node* find_column(const Node& node, const NameSet& columns) {
  if (node.op == Op::column && columns.contains(node.name)) return &node;
  for (const NodePtr& child : node.children) {
    if (const Node* found = find_column(*child, columns)) return found;
  }
  return nullptr;
}

}  // namespace

std::vector<int> columns_read(const BoundQuery& query) {
  Indices read;
  if (query.condition) read.add(*query.condition);
  if (query.group) {
    add_group(*query.group, read);
  } else {
    add_answer(query, read);
  }
  return read.ascending();
}

std::vector<std::string> columns_read(const Query& query, const std::vector<std::string>& table_columns) {
  if (query.group_by().empty() && query.select().empty()) return table_columns;
  NamesRead read;
  for (const Expression* expression : expressions_of_input(query)) read.add(root_of(*expression));
  for (const GroupKey& key : keys_of_input(query)) read.add(key.name);  // a column of that name is an error, to be seen
  std::vector<std::string> result;
  std::copy_if(table_columns.begin(), table_columns.end(), std::back_inserter(result),
               [&](const std::string& name) { return read.contains(name); });
  return result;
}

bool names_unknown_column(const Query& query, const std::vector<std::string>& table_columns) {
  const auto any_unknown = [](const std::vector<const Expression*>& expressions, const NameSet& columns) {
    return std::ranges::any_of(
        expressions, [&](const Expression* expression) { return names_other_column(root_of(*expression), columns); });
  };
  NameSet names(table_columns.begin(), table_columns.end());
  if (any_unknown(first_expressions(query), names)) return true;
  for (const GroupKey& key : keys_of_input(query)) names.insert(key.name);
  return any_unknown(later_expressions(query), names);
}

void refuse_unsupported(const Query& query, const std::vector<UnsupportedColumn>& columns) {
  if (columns.empty()) return;
  NameSet names;
  for (const UnsupportedColumn& column : columns) names.insert(column.name);
  for (const Expression* expression : expressions_of_input(query)) {
    const Node* node = find_column(root_of(*expression), names);
    if (node == nullptr) continue;
    const auto column = std::ranges::find(columns, node->name, &UnsupportedColumn::name);
    const std::string why = column->reason.empty() ? "" : ": " + column->reason;
    const Location place = place_of(*node, expression->location());
    throw BindError("column '" + column->name + "' has type " + column->type + ", which skyrank cannot read" + why,
                    place.line > 0 ? place : location_of(query));
  }
}

}  // namespace skyrank::query
