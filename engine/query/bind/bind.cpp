#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/column_traits.hpp"
#include "engine/query/bind/binding.hpp"
#include "engine/query/check.hpp"
#include "engine/query/enum_words.hpp"
#include "engine/text.hpp"

// Binds a query to the names and types of a table: the first expressions see the table, those behind `group_by` see the
// groups, and the answer's also `row`, `level` and `score`. Preferences and expressions have files of their own.
namespace skyrank::query {
namespace {

std::string listed(const Schema& schema) { return join(schema.fields, std::mem_fn(&Schema::Field::name)); }

// Binds the expressions of one stage of a query: those before group_by see the input's columns, those after it the
// groups' columns.
class Scope {
 public:
  Scope(const Schema& schema, const Schema& input) : schema_(schema), places_(schema), input_(input) {}

  bool has(std::string_view name) const { return places_.find(name).has_value(); }

  BoundExpression bind(const Expression& expression) const {
    explain_unknown(root_of(expression), expression.location());
    return bind_expression(expression, places_);
  }

  BoundExpression bind_condition(const Expression& expression) const {
    BoundExpression bound = bind(expression);
    check_condition(bound);
    return bound;
  }

  std::vector<int> bind_columns(const std::vector<GroupKey>& keys) const {
    std::vector<int> indices;
    for (const GroupKey& key : keys) indices.push_back(bind(key.expression).column);
    return indices;
  }

  // Whether an expression is nothing but the name of a pseudo-column that no real column hides.
  bool is_pseudo(const Expression& expression) const { return is_pseudo(root_of(expression)); }

 private:
  bool is_pseudo(const Node& node) const {
    return node.op == Op::column && !node.exact && is_pseudo_column(node.name) && !places_.find(node.name);
  }

  // Names that mean something elsewhere in a query deserve more than "there is no such column".
  void explain_unknown(const Node& node, const Location& origin) const {
    if (node.op == Op::column && !places_.find(node.name)) {
      const Location place = place_of(node, origin);
      if (is_pseudo(node)) {
        throw BindError(in_quotes(node.name) + " stands only in 'select', and there on its own", place);
      }
      if (input_.find(node.name)) {
        throw BindError("the column " + in_quotes(node.name) + " does not outlive 'group_by': after it there are " +
                            listed(schema_),
                        place);
      }
    }
    for (const NodePtr& child : node.children) explain_unknown(*child, origin);
  }

  const Schema& schema_;
  const SchemaPlaces places_;
  const SchemaPlaces input_;
};

DataType aggregate_type(Aggregate::Function function, const std::optional<BoundExpression>& argument) {
  if (function == Aggregate::Function::count) return Type::int64;
  const Type type = argument->type.type;
  const bool extreme = function == Aggregate::Function::min || function == Aggregate::Function::max;
  if (extreme ? type == Type::string : !is_numeric(type)) {
    throw BindError(in_quotes(word_for(function)) + (extreme ? " does not take strings" : " needs a number") +
                        ", and its argument is " + argument->text + " (" + to_string(argument->type) + ")",
                    argument->location);
  }
  if (extreme) return argument->type;
  if (function == Aggregate::Function::avg || is_floating(type)) return Type::float64;
  if (is_decimal(type)) return DataType::decimal(kMaxDigits128, argument->type.scale);
  return is_unsigned_integer(type) ? Type::uint64 : Type::int64;
}

BoundAggregate bind_aggregate(const Aggregate& aggregate, const Scope& scope) {
  BoundAggregate bound;
  bound.name = aggregate.name;
  bound.function = aggregate.function;
  if (aggregate.argument) bound.argument = scope.bind(*aggregate.argument);
  bound.type = aggregate_type(aggregate.function, bound.argument);
  return bound;
}

BoundGroup bind_group(const Query& query, const Scope& scope) {
  BoundGroup group;
  group.columns = scope.bind_columns(query.group_by());
  for (const Aggregate& aggregate : query.aggregate()) group.aggregates.push_back(bind_aggregate(aggregate, scope));
  return group;
}

Schema schema_of(const BoundGroup& group, const Schema& input) {
  Schema schema;
  for (const int column : group.columns) schema.fields.push_back(input.fields[static_cast<std::size_t>(column)]);
  for (const BoundAggregate& aggregate : group.aggregates) schema.fields.push_back({aggregate.name, aggregate.type});
  return schema;
}

// Returns the word of a pseudo-column without the parentheses of `row()`.
std::string_view pseudo_word(const Expression& expression) {
  std::string_view word = expression.column_name();
  if (word.ends_with("()")) word.remove_suffix(2);
  return word;
}

// A ranking from the first row to the last needs no values: rows that are equal keep their order.
void explain_row_order(const RankTerm& term, const Scope& scope) {
  if (term.high || !scope.is_pseudo(term.expression) || pseudo_word(term.expression) != "row") return;
  throw BindError(in_quotes(term.expression.column_name()) +
                      " stands only in 'select'; a ranking by (0) keeps the rows in the order of the table",
                  term.expression.location());
}

std::vector<BoundRankTerm> bind_ranking(const Query& query, const Scope& scope) {
  const MissingFirst first = missing_first(query);
  std::vector<BoundRankTerm> ranking;
  for (const RankTerm& term : query.rank_by()) {
    explain_row_order(term, scope);
    BoundExpression values = scope.bind(term.expression);
    if (first.nan && is_floating(values.type.type)) {
      ranking.push_back({scope.bind(stands_first(term.expression, first)), true, false});
    }
    ranking.push_back({std::move(values), term.high, first.nulls});
  }
  return ranking;
}

BoundOutput bind_pseudo(const SelectItem& item, const Query& query, const BoundQuery& bound, const Scope& scope) {
  BoundOutput output;
  output.name = item.name;
  const std::string_view word = pseudo_word(item.expression);
  if (word == "row") {
    output.kind = BoundOutput::Kind::row;
  } else if (word == "level") {
    if (!bound.preference) throw BindError("selecting 'level' needs 'prefer'", item.expression.location());
    output.kind = BoundOutput::Kind::level;
  } else {
    if (bound.ranking.empty()) throw BindError("selecting 'score' needs 'rank_by'", item.expression.location());
    output.kind = BoundOutput::Kind::score;
    output.expression = scope.bind(query.rank_by().front().expression);
  }
  return output;
}

BoundOutput bind_output(const SelectItem& item, const Query& query, const BoundQuery& bound, const Scope& scope) {
  if (scope.is_pseudo(item.expression)) return bind_pseudo(item, query, bound, scope);
  BoundOutput output;
  output.name = item.name;
  output.expression = scope.bind(item.expression);
  return output;
}

// `row` and every column; `row()` where a column bears the name `row`.
std::vector<SelectItem> default_selection(const Schema& schema, const Scope& scope) {
  std::vector<SelectItem> items;
  const std::string row = scope.has("row") ? "row()" : "row";
  if (!scope.has(row)) items.push_back({row, Expression(row)});
  for (const Schema::Field& field : schema.fields) items.push_back({field.name, Expression::column(field.name)});
  return items;
}

BoundQuery bind_checked(const Query& query, const Schema& schema) {
  BoundQuery bound;
  bound.name = query.name();
  bound.from = query.from();
  bound.location = location_of(query);
  const Scope input(schema, schema);
  if (query.where()) bound.condition = input.bind_condition(*query.where());
  if (!query.group_by().empty()) bound.group = bind_group(query, input);

  const Schema answer_schema = bound.group ? schema_of(*bound.group, schema) : schema;
  const Scope answer(answer_schema, schema);
  bound.partition_columns = answer.bind_columns(query.partition_by());
  if (query.prefer()) {
    bound.preference =
        bind_preference(*query.prefer(), missing_first(query), [&](const Expression& e) { return answer.bind(e); });
  }
  bound.levels = query.levels();
  bound.at_least = query.at_least();
  bound.distinct = query.distinct();
  if (query.pick()) bound.pick = bind_pick(*query.pick(), *bound.preference);
  bound.ranking = bind_ranking(query, answer);
  bound.offset = query.offset();
  bound.limit = query.limit();
  bound.ties = query.ties();
  bound.nan_rule = query.nan();
  bound.null_rule = query.nulls();
  bound.path = query.using_path();
  bound.path_locations = path_locations_of(query);

  const auto items = query.select().empty() ? default_selection(answer_schema, answer) : query.select();
  for (const SelectItem& item : items) bound.outputs.push_back(bind_output(item, query, bound, answer));
  return bound;
}

}  // namespace

Schema schema_of(const Table& table) {
  Schema schema;
  for (const Column& column : table.columns())
    schema.fields.push_back({column.name(), column.type(), exec::order_of(column.data())});
  return schema;
}

BoundQuery bind(const Query& query, const Schema& schema) {
  query.validate();
  try {
    return bind_checked(query, schema);
  } catch (const BindError& error) {
    // Expressions built without text have no place of their own: the query's is the next best.
    if (error.location().line > 0) throw;
    throw BindError(error.message(), location_of(query));
  }
}

}  // namespace skyrank::query
