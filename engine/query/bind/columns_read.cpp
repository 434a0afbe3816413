#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/query/bound.hpp"
#include "engine/query/expressions.hpp"
#include "engine/query/locations.hpp"
#include "engine/query/written_names.hpp"

// The columns of the input that a query reads, before and after binding. The same walks over its expressions find
// columns that cannot be read and names that the table lacks, and give columns other places.
namespace skyrank::query {
namespace {

// Walks over what is bound call visit(expression), and visit(columns) for lists of columns.
template <class Bound, class Visit>
void visit_preference(Bound& preference, const Visit& visit) {
  if (preference.expression.root) visit(preference.expression);
  for (auto& child : preference.children) visit_preference(child, visit);
}

template <class Bound, class Visit>
void visit_group(Bound& group, const Visit& visit) {
  visit(group.columns);
  for (auto& aggregate : group.aggregates) {
    if (aggregate.argument) visit(*aggregate.argument);
  }
}

// Visits all that is bound to the input: of a query with groups, nothing behind these is.
template <class Bound, class Visit>
void visit_input(Bound& query, const Visit& visit) {
  if (query.condition) visit(*query.condition);
  if (query.group) return visit_group(*query.group, visit);
  visit(query.partition_columns);
  if (query.preference) visit_preference(*query.preference, visit);
  for (auto& term : query.ranking) visit(term.expression);
  for (auto& output : query.outputs) {
    if (output.expression.root) visit(output.expression);
  }
}

/// Gives columns their places among those that a query reads.
class ColumnPlaces {
 public:
  explicit ColumnPlaces(std::vector<int> read) : read_(std::move(read)) {}

  void operator()(std::vector<int>& columns) const {
    for (int& column : columns) renumber(column);
  }
  void operator()(BoundExpression& expression) const {
    renumber(expression.root);
    renumber(expression.column);
  }

 private:
  void renumber(int& column) const {
    if (column >= 0) column = static_cast<int>(std::ranges::lower_bound(read_, column) - read_.begin());
  }
  void renumber(BoundPtr& node) const {
    auto copy = std::make_shared<BoundNode>(*node);
    renumber(copy->column);
    for (BoundPtr& child : copy->children) renumber(child);
    node = std::move(copy);
  }

  std::vector<int> read_;  // ascending
};

using NameSet = std::unordered_set<std::string_view>;

/// The expressions of a query over its input, in which texts are the columns that they name.
class InputExpressions {
 public:
  InputExpressions(const Query& query, const NameTest& is_column)
      : query_(query), is_column_(is_column), keys_(named_keys(query, is_column)) {}

  const std::vector<GroupKey>& keys() const { return keys_; }

  /// Calls f(expression) for the condition and the keys: they see columns of the input alone.
  template <class F>
  void for_each_first(const F& f) const {
    if (query_.where()) f(named(*query_.where(), is_column_));
    for (const GroupKey& key : keys_) f(key.expression);
  }

  /// Does it for the others over columns of the input and of the keys. Those of a query with groups are over the groups
  /// from the preference on.
  template <class F>
  void for_each_later(const F& f) const {
    if (query_.has_groups()) {
      return for_each_argument(query_, [&](const Expression& argument) { f(named(argument, is_column_)); });
    }
    std::set<std::string> of_keys;
    for (const GroupKey& key : keys_) of_keys.insert(key.name);
    const auto is_later = [&](const std::string& name) { return of_keys.contains(name) || is_column_(name); };
    for_each_of_answer(query_, [&](const Expression& expression) { f(named(expression, is_later)); });
  }

 private:
  const Query& query_;
  const NameTest& is_column_;
  std::vector<GroupKey> keys_;
};

void add_names(const Node& node, std::set<std::string, std::less<>>& names) {
  if (node.op == Op::column) names.insert(node.name);
  for (const NodePtr& child : node.children) add_names(*child, names);
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

void ColumnSet::add(const BoundNode& node) {
  if (node.op == Op::column) columns_.insert(node.column);
  for (const BoundPtr& child : node.children) add(*child);
}

void ColumnSet::add(const BoundPreference& preference) {
  visit_preference(preference, [this](const BoundExpression& expression) { add(expression); });
}

void ColumnSet::add(const BoundGroup& group) {
  visit_group(group, [this](const auto& read) { add(read); });
}

std::vector<int> columns_read(const BoundQuery& query) {
  ColumnSet read;
  visit_input(query, [&](const auto& part) { read.add(part); });
  return read.ascending();
}

BoundQuery over_columns_read(const BoundQuery& query) {
  BoundQuery over = query;
  visit_input(over, ColumnPlaces(columns_read(query)));
  return over;
}

std::vector<std::string> columns_read(const Query& query, const std::vector<std::string>& table_columns) {
  const NameTest is_column = names_of(table_columns);
  const InputExpressions expressions(query, is_column);
  NameSet known(table_columns.begin(), table_columns.end());
  std::set<std::string, std::less<>> read;
  bool unknown = false;
  const auto look = [&](const Expression& expression) {
    unknown = unknown || names_other_column(root_of(expression), known);
    add_names(root_of(expression), read);
  };
  expressions.for_each_first(look);
  for (const GroupKey& key : expressions.keys()) {
    known.insert(key.name);
    read.insert(key.name);  // a column of that name is an error, to be seen
  }
  expressions.for_each_later(look);
  if (unknown || (!query.has_groups() && query.select().empty())) return table_columns;
  std::vector<std::string> result;
  std::copy_if(table_columns.begin(), table_columns.end(), std::back_inserter(result),
               [&](const std::string& name) { return read.contains(name); });
  return result;
}

void refuse_unsupported(const Query& query, const NameTest& is_column, const std::vector<UnsupportedColumn>& columns) {
  if (columns.empty()) return;
  NameSet names;
  for (const UnsupportedColumn& column : columns) names.insert(column.name);
  const auto refuse = [&](const Expression& expression) {
    const Node* node = find_column(root_of(expression), names);
    if (node == nullptr) return;
    const auto column = std::ranges::find(columns, node->name, &UnsupportedColumn::name);
    const std::string why = column->reason.empty() ? "" : ": " + column->reason;
    const Location place = place_of(*node, expression.location());
    throw BindError("column '" + column->name + "' has type " + column->type + ", which skyrank cannot read" + why,
                    place.line > 0 ? place : location_of(query));
  };
  const InputExpressions expressions(query, is_column);
  expressions.for_each_first(refuse);
  expressions.for_each_later(refuse);
}

}  // namespace skyrank::query
