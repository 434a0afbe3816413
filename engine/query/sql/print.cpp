#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include <skyrank/query.hpp>

#include "engine/query/ast.hpp"
#include "engine/query/check.hpp"
#include "engine/query/enum_words.hpp"
#include "engine/query/values.hpp"
#include "engine/text.hpp"

// Queries as SQL: what parse.cpp reads, one clause a line.
namespace skyrank {
inline namespace v0 {
namespace {

using Kind = Preference::Kind;

std::string sql_of(const Expression& expression) { return query::to_sql_text(query::root_of(expression)); }

std::string name_text(std::string_view name) { return sql_of(Expression::column(name)); }

std::string string_text(std::string_view text) { return sql_of(Expression::literal(std::string(text))); }

std::string value_text(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  if (number != nullptr && std::isinf(*number)) return *number < 0 ? "-INFINITY" : "INFINITY";
  if (std::holds_alternative<Null>(value)) return "NULL";
  return sql_of(Expression::literal(value));
}

template <class List, class Print>
std::string joined(const List& list, std::string_view separator, const Print& print) {
  std::string text;
  for (const auto& item : list) {
    if (!text.empty()) text += separator;
    text += print(item);
  }
  return text;
}

std::string print(const Aggregate& aggregate) {
  return query::in_capitals(query::word_for(aggregate.function)) + "(" +
         (aggregate.argument ? sql_of(*aggregate.argument) : "*") + ") AS " + name_text(aggregate.name);
}

std::string print_set(const std::vector<Value>& set) { return "(" + joined(set, ", ", value_text) + ")"; }

std::string print(const Preference& preference);

std::string print_children(const Preference& preference, std::string_view separator) {
  return joined(preference.children, separator, [&](const Preference& child) {
    const bool parentheses = child.kind == Kind::pareto || child.kind == Kind::prior;
    return parentheses && child.children.size() > 1 ? "(" + print(child) + ")" : print(child);
  });
}

std::string print(const Preference& p) {
  const auto operand = [&] { return query::to_sql_text(query::root_of(*p.expression), true); };
  switch (p.kind) {
    case Kind::low: return "LOW " + sql_of(*p.expression);
    case Kind::high: return "HIGH " + sql_of(*p.expression);
    case Kind::where: return "WHERE " + sql_of(*p.expression);
    case Kind::around: return operand() + " AROUND " + value_text(p.target);
    case Kind::between: return operand() + " BETWEEN " + value_text(p.target) + " AND " + value_text(p.upper);
    case Kind::in: return operand() + " IN " + joined(p.values, " ELSE ", print_set);
    case Kind::pareto:
      return p.children.size() == 1 ? "PARETO (" + print(p.children[0]) + ")" : print_children(p, " PLUS ");
    case Kind::prior:
      return p.children.size() == 1 ? "PRIOR (" + print(p.children[0]) + ")" : print_children(p, " PRIOR TO ");
    case Kind::inverse: return "INVERSE (" + print(p.children[0]) + ")";
  }
  return {};
}

// Finds what a query selects and its aggregates by their names.
class NamesInSql {
 public:
  explicit NamesInSql(const Query& query) {
    for (const SelectItem& item : query.select()) selected_.emplace(item.name, &item.expression);
    for (const Aggregate& one : query.aggregate()) aggregates_.emplace(one.name, &one);
    auto next = query.aggregate().begin();
    for (const SelectItem& item : query.select()) {
      if (next != query.aggregate().end() && item.name == next->name && is_column(item)) ++next;
    }
    selects_aggregates_ = next == query.aggregate().end();
  }

  // SELECT defines the aggregates where it names all of them in their order.
  bool selects_aggregates() const { return selects_aggregates_; }

  // The aggregate that an item of SELECT defines, or null.
  const Aggregate* defined_by(const SelectItem& item) const {
    const auto aggregate = aggregates_.find(item.name);
    return selects_aggregates_ && aggregate != aggregates_.end() && is_column(item) ? aggregate->second : nullptr;
  }

  // True where SELECT gives the name to another expression.
  bool is_alias(std::string_view name, const Expression& expression) const {
    const auto item = selected_.find(name);
    return item != selected_.end() && *item->second != expression;
  }

 private:
  static bool is_column(const SelectItem& item) { return item.expression == Expression::column(item.name); }

  std::unordered_map<std::string_view, const Expression*> selected_;
  std::unordered_map<std::string_view, const Aggregate*> aggregates_;
  bool selects_aggregates_ = false;
};

std::string print_selected(const Query& query, const NamesInSql& names) {
  if (query.select().empty()) return "*";
  return joined(query.select(), ", ", [&](const SelectItem& item) {
    if (const Aggregate* aggregate = names.defined_by(item)) return print(*aggregate);
    const std::string text = sql_of(item.expression);
    return item.name == query::output_name(item.expression) ? text : text + " AS " + name_text(item.name);
  });
}

bool is_whole_number(const Expression& expression) {
  const query::Node& root = query::root_of(expression);
  return root.op == query::Op::literal && std::holds_alternative<std::int64_t>(root.value);
}

// Parentheses keep GROUP BY from reading a key as a name of SELECT, or as a position there.
std::string print_key(const NamesInSql& names, const GroupKey& key) {
  const std::string text = sql_of(key.expression);
  if (key.name != query::output_name(key.expression)) return text + " AS " + name_text(key.name);
  const bool alias = key.is_column() && names.is_alias(key.name, key.expression);
  return alias || is_whole_number(key.expression) ? "(" + text + ")" : text;
}

// Prints a term, in parentheses where ORDER BY would read it as a position or as a name of SELECT.
std::string print_term(const NamesInSql& names, const RankTerm& term) {
  const std::string_view name = term.expression.column_name();
  const bool alias = !name.empty() && names.is_alias(name, term.expression);
  const std::string text = sql_of(term.expression);
  return (is_whole_number(term.expression) || alias ? "(" + text + ")" : text) + (term.high ? " DESC" : "");
}

std::string print_options(const Query& query) {
  std::string text;
  const auto add = [&](std::string_view key, const std::string& value) {
    text.append(text.empty() ? "" : ", ").append(key).append(" = ").append(value);
  };
  const auto add_names = [&](std::string_view key, const std::vector<std::string>& names) {
    if (!names.empty()) add(key, "(" + joined(names, ", ", string_text) + ")");
  };
  const auto word = [](auto value) { return std::string(query::word_for(value)); };
  if (!query.name().empty()) add("name", string_text(query.name()));
  if (query.ties() == Ties::last || query.ties() == Ties::any) add("ties", word(query.ties()));
  if (query.nan() != Missing::worst) add("nan", word(query.nan()));
  if (query.nulls() != Missing::worst) add("nulls", word(query.nulls()));
  if (query.timeout()) add("timeout", "'" + std::to_string(query.timeout()->count()) + "ms'");
  const ForcedPath& path = query.using_path();
  if (path.device != DeviceChoice::automatic) add("device", word(path.device));
  add_names("algorithm", path.algorithms);
  add_names("without", path.without);
  if (!path.parameters.empty()) {
    add("parameters", "(" + joined(path.parameters, ", ", [](const auto& parameter) {
                        return string_text(parameter.first) + " = " + std::to_string(parameter.second);
                      }) + ")");
  }
  return text;
}

std::string print(const Pick& pick) {
  std::string text = std::to_string(pick.count) + " BY " + query::in_capitals(query::word_for(pick.by));
  if (pick.reference.empty()) return text;
  return text + " REFERENCE (" +
         joined(pick.reference, ", ", [](double value) { return sql_of(Expression::literal(value)); }) + ")";
}

std::string print_table(const std::string& name) {
  return name.find_first_of("./\\*?") == std::string::npos ? name_text(name) : string_text(name);
}

}  // namespace

std::string to_sql(const Query& query) {
  query.validate();
  const NamesInSql names(query);
  std::string text = "SELECT " + print_selected(query, names) + "\nFROM " + print_table(query.from());
  const auto clause = [&](bool present, std::string_view words, const auto& print_it) {
    if (present) text.append("\n").append(words).append(" ").append(print_it());
  };
  const auto keys = [&](const std::vector<GroupKey>& list) {
    return joined(list, ", ", [&](const GroupKey& key) { return print_key(names, key); });
  };
  const auto number = [](std::optional<std::int64_t> value) { return std::to_string(value.value_or(0)); };
  clause(query.where().has_value(), "WHERE", [&] { return sql_of(*query.where()); });
  clause(!query.group_by().empty(), "GROUP BY", [&] { return keys(query.group_by()); });
  clause(!query.aggregate().empty() && !names.selects_aggregates(), "AGGREGATE",
         [&] { return joined(query.aggregate(), ", ", [](const Aggregate& one) { return print(one); }); });
  clause(query.having().has_value(), "HAVING", [&] { return sql_of(*query.having()); });
  clause(query.prefer().has_value(), query.distinct() ? "PREFERRING DISTINCT" : "PREFERRING",
         [&] { return print(*query.prefer()); });
  clause(!query.partition_by().empty(), "PARTITION BY", [&] { return keys(query.partition_by()); });
  clause(query.levels().has_value(), "LEVELS", [&] { return number(query.levels()); });
  clause(query.at_least().has_value(), "AT LEAST", [&] { return number(query.at_least()); });
  clause(query.skyband().has_value(), "SKYBAND",
         [&] { return query.skyband() == kAllRows ? "ALL" : number(query.skyband()); });
  clause(query.pick().has_value(), "PICK", [&] { return print(*query.pick()); });
  clause(!query.rank_by().empty(), "ORDER BY",
         [&] { return joined(query.rank_by(), ", ", [&](const RankTerm& term) { return print_term(names, term); }); });
  clause(query.limit().has_value(), "LIMIT", [&] { return number(query.limit()); });
  clause(query.offset() != 0, "OFFSET", [&] { return number(query.offset()); });
  if (query.ties() == Ties::all) text += query.limit() && query.offset() == 0 ? " WITH TIES" : "\nWITH TIES";
  const std::string options = print_options(query);
  clause(!options.empty(), "OPTIONS", [&] { return "(" + options + ")"; });
  return text;
}

}  // namespace v0
}  // namespace skyrank
