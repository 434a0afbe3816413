#include "engine/query/written_names.hpp"

#include <set>
#include <utility>

#include <skyrank/error.hpp>

#include "engine/query/check.hpp"
#include "engine/query/expressions.hpp"
#include "engine/query/sql_words.hpp"
#include "engine/text.hpp"

namespace skyrank::query {
namespace {

/// Returns true for "a +" and "(a" where the parser misses something at the end, but not for "50%".
bool is_cut_short(std::string_view text, const QueryError& error, const PlaceFunction& place) {
  const Location end = place(text.size());
  if (error.location().line != end.line || error.location().column != end.column || text.empty()) return text.empty();
  const bool ends_with_word = is_word_character(text.back());
  return ends_with_word || text.size() < 2 || is_blank(text[text.size() - 2]);
}

/// Returns true for the value of a term with a `step`, which no text has as a whole.
bool is_boxed(const Node& root) { return (root.op == Op::bucket || root.op == Op::log_bucket) && root.written.empty(); }

/// Names of columns, and expressions that are such names.
class Names {
 public:
  /// Sets `changed` once it has named an expression.
  Names(const std::vector<std::string>& names, bool& changed)
      : names_(names.begin(), names.end()), changed_(&changed) {}

  void add(const std::string& name) { names_.insert(name); }

  Expression of(const Expression& expression) {
    const Node& root = root_of(expression);
    if (is_boxed(root)) return of_boxed(expression);
    if (root.op == Op::column || root.written.empty() || !names_.contains(root.written)) return expression;
    *changed_ = true;
    Node column = root_of(Expression::column(root.written));
    column.at_corner = root.at_corner;
    column.line = expression.location().line;
    column.column = expression.location().column;
    return make_expression(std::make_shared<const Node>(std::move(column)), expression.location());
  }

  /// The same of the value of a term with a `step`, which is a text of its own.
  Expression of_boxed(const Expression& expression) {
    Node root = root_of(expression);
    const Expression value = of(make_expression(root.children[0], expression.location()));
    root.children[0] = std::make_shared<const Node>(root_of(value));
    return make_expression(std::make_shared<const Node>(std::move(root)), expression.location());
  }

  std::vector<GroupKey> of(std::vector<GroupKey> keys) {
    for (GroupKey& key : keys) {
      const bool is_named = key.name != output_name(key.expression);
      Expression expression = of(key.expression);
      key = is_named ? GroupKey(key.name, std::move(expression)) : GroupKey(std::move(expression));
    }
    return keys;
  }

  Preference of(Preference preference) {
    if (preference.expression) preference.expression = of(*preference.expression);
    for (Preference& child : preference.children) child = of(std::move(child));
    return preference;
  }

  SelectItem of(SelectItem item) {
    const bool is_named = item.name != output_name(item.expression);
    item.expression = of(item.expression);
    if (!is_named) item.name = output_name(item.expression);
    return item;
  }

 private:
  std::set<std::string, std::less<>> names_;
  bool* changed_;
};

bool is_written(const Expression& expression) {
  const Node& root = root_of(expression);
  const Node& value = is_boxed(root) ? *root.children[0] : root;
  return value.op != Op::column && !value.written.empty();
}

/// Returns true if a text of the query may be a name.
bool is_written(const Query& query) {
  bool found = false;
  const auto look = [&](const Expression& expression) { found = found || is_written(expression); };
  if (query.where()) look(*query.where());
  for (const GroupKey& key : query.group_by()) look(key.expression);
  for (const GroupKey& key : query.partition_by()) look(key.expression);
  for_each_argument(query, look);
  if (query.having()) look(*query.having());
  for_each_of_answer(query, look);
  return found;
}

/// Replaces the keys over the table by f(keys).
template <class F>
void name_keys(Query& query, const F& f) {
  if (!query.group_by().empty()) {
    query.group_by(f(query.group_by()));
  } else if (!query.partition_by().empty()) {
    query.partition_by(f(query.partition_by()));
  }
}

/// Names the columns of the clauses over the input but the keys, and returns the names that later clauses see.
Names name_first(Query& query, Names names, bool& changed) {
  if (query.where()) query.where(names.of(*query.where()));
  if (!query.has_groups()) {
    for (const GroupKey& key : query.partition_by()) names.add(key.name);
    return names;
  }
  std::vector<Aggregate> aggregates = query.aggregate();
  std::vector<std::string> of_groups;
  for (const GroupKey& key : query.group_by()) of_groups.push_back(key.name);
  for (Aggregate& aggregate : aggregates) {
    if (aggregate.argument) aggregate.argument = names.of(*aggregate.argument);
    of_groups.push_back(aggregate.name);
  }
  if (!aggregates.empty()) query.aggregate(std::move(aggregates));
  Names later(of_groups, changed);
  if (query.having()) query.having(later.of(*query.having()));
  if (!query.partition_by().empty()) query.partition_by(later.of(query.partition_by()));
  return later;
}

/// Names all clauses but the keys.
void name_clauses(Query& query, const Names& columns, bool& changed) {
  Names names = name_first(query, columns, changed);
  if (query.prefer()) query.prefer(names.of(*query.prefer()));
  std::vector<RankTerm> ranking;
  for (const RankTerm& term : query.rank_by()) ranking.emplace_back(names.of(term.expression), term.high);
  if (!ranking.empty()) query.rank_by(std::move(ranking));
  std::vector<SelectItem> items;
  for (const SelectItem& item : query.select()) items.push_back(names.of(item));
  if (!items.empty()) query.select(std::move(items));
}

std::vector<std::string> columns_of_table(const Table& table) {
  std::vector<std::string> names;
  for (const Column& column : table.columns()) names.push_back(column.name());
  for (const UnsupportedColumn& column : table.unsupported()) names.push_back(column.name);
  return names;
}

/// Returns what name(query, names, changed) makes of a query; nothing where it changes nothing.
template <class Name>
std::optional<Query> renamed(const Query& query, const std::vector<std::string>& columns, const Name& name) {
  if (!is_written(query)) return std::nullopt;
  Query named = query;
  bool changed = false;
  Names names(columns, changed);
  name(named, names, changed);
  return changed ? std::optional(std::move(named)) : std::nullopt;
}

}  // namespace

NodePtr parse_written(std::string_view text, const PlaceFunction& place) {
  NodePtr root = parse_expression(text, place);
  if (root->op == Op::column) return root;
  Node kept = *root;
  kept.written = text;
  return std::make_shared<const Node>(std::move(kept));
}

NodePtr parse_name_or_expression(std::string_view text, const PlaceFunction& place) {
  try {
    return parse_written(text, place);
  } catch (const QueryError& error) {
    if (is_cut_short(text, error, place)) throw;
    Node column = root_of(Expression::column(text));
    const Location start = place(0);
    column.line = start.line;
    column.column = start.column;
    column.unreadable = std::make_shared<const QueryError>(error);
    return std::make_shared<const Node>(std::move(column));
  }
}

std::optional<Query> with_written_names(const Query& query, const std::vector<std::string>& columns) {
  return renamed(query, columns, [](Query& named, Names& names, bool& changed) {
    name_keys(named, [&](const std::vector<GroupKey>& keys) { return names.of(keys); });
    name_clauses(named, names, changed);
  });
}

std::optional<Query> with_written_names(const Query& query, const Table& table) {
  if (!is_written(query)) return std::nullopt;
  return with_written_names(query, columns_of_table(table));
}

Query with_written_keys(const Query& query, const Table& table) {
  const auto name = [](Query& named, Names& names, bool& /*changed*/) {
    name_keys(named, [&](std::vector<GroupKey> keys) {
      for (GroupKey& key : keys) {
        if (key.name == output_name(key.expression)) key = GroupKey(names.of(key.expression));
      }
      return keys;
    });
  };
  return renamed(query, columns_of_table(table), name).value_or(query);
}

Query with_written_clauses(const Query& query, const Table& table) {
  return renamed(query, columns_of_table(table), name_clauses).value_or(query);
}

}  // namespace skyrank::query
