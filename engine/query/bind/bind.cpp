#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/column_traits.hpp"
#include "engine/query/bind/binding.hpp"
#include "engine/query/bind/key_names.hpp"
#include "engine/query/check.hpp"
#include "engine/query/enum_words.hpp"
#include "engine/query/values.hpp"
#include "engine/query/written_names.hpp"
#include "engine/text.hpp"

// Binds a query to the names and types of a table: the first expressions see the table, those behind `group_by` see the
// groups, and the answer's also `row`, `level` and `score`. Preferences and expressions have files of their own.
namespace skyrank::query {
namespace {

using MeasureKind = BoundMeasure::Kind;

// The functions of rows that measure them by the rows from which a preference chooses.
std::optional<MeasureKind> measure_named(std::string_view word) {
  constexpr std::pair<std::string_view, MeasureKind> kMeasures[] = {{"level", MeasureKind::level},
                                                                    {"dominated_by", MeasureKind::dominated_by},
                                                                    {"dominates", MeasureKind::dominates},
                                                                    {"crowding", MeasureKind::crowding},
                                                                    {"contribution", MeasureKind::contribution},
                                                                    {"compromise", MeasureKind::compromise}};
  const std::string_view name = word.substr(0, word.find('('));
  const auto found = std::ranges::find(kMeasures, name, [](const auto& measure) { return measure.first; });
  return found == std::end(kMeasures) ? std::nullopt : std::optional(found->second);
}

void check_flat_pareto(const BoundPreference& preference, const std::string& what, const Location& place) {
  if (is_flat_pareto(preference)) return;
  const bool conditional =
      preference.kind == Preference::Kind::prior && preference.children.front().kind == Preference::Kind::where;
  throw BindError(what +
                      " needs a preference that is a term or 'pareto' of terms; a 'prior' of terms counts as a term" +
                      (conditional ? ", and so does 'feasible' before one term, not before several" : ""),
                  place);
}

bool is_count(MeasureKind kind) {
  return kind == MeasureKind::level || kind == MeasureKind::dominated_by || kind == MeasureKind::dominates;
}

// Checks that all terms are `low` or `high` of numbers, and returns how many there are.
std::size_t check_number_terms(const Preference& preference, const std::string& what, const ExpressionBinder& bind,
                               const Location& place) {
  if (preference.kind == Preference::Kind::pareto || preference.kind == Preference::Kind::inverse) {
    std::size_t terms = 0;
    for (const Preference& child : preference.children) terms += check_number_terms(child, what, bind, place);
    return terms;
  }
  const std::string needs = what + " needs 'low' and 'high' terms of numbers, not ";
  if (preference.kind != Preference::Kind::low && preference.kind != Preference::Kind::high) {
    const bool conditional =
        preference.kind == Preference::Kind::prior && preference.children.front().kind == Preference::Kind::where;
    throw BindError(needs + in_quotes(word_for(preference.kind)) + (conditional ? " as 'feasible' makes" : ""), place);
  }
  const BoundExpression value = bind(*preference.expression);
  if (!is_numeric(value.type.type)) throw BindError(needs + value.text + " (" + to_string(value.type) + ")", place);
  return 1;
}

// The numbers of a call: a reference point has one for each term, weights have none or one for each.
std::vector<double> bind_numbers(const Node& call, MeasureKind kind, std::size_t terms, const Location& place) {
  std::vector<double> numbers;
  for (const NodePtr& child : call.children) numbers.push_back(double_of(child->value).value());
  const bool weights = kind == MeasureKind::compromise;
  if (numbers.size() != terms && !(numbers.empty() && weights)) {
    throw BindError(std::string(weights ? "'compromise' takes no weight, or one" : "'contribution' takes a number") +
                        " for each of the " + std::to_string(terms) + " terms, found " + std::to_string(numbers.size()),
                    place);
  }
  const bool useless = !numbers.empty() && std::ranges::none_of(numbers, [](double weight) { return weight > 0; });
  if (weights && (useless || std::ranges::any_of(numbers, [](double weight) { return weight < 0; }))) {
    throw BindError("weights of 'compromise' are 0 or more, and one is above 0", place);
  }
  return numbers;
}

bool is_of_corners(const Preference& preference) {
  if (preference.expression) return root_of(*preference.expression).at_corner;
  return std::ranges::any_of(preference.children, is_of_corners);
}

// Refuses numbers of terms beside 'weights': they would be of the sums at the corners, which have no order that a user
// knows.
void refuse_corners(const Preference& preference, const std::string& what, const std::string& instead,
                    const Location& place) {
  if (!is_of_corners(preference)) return;
  throw BindError(what + " has a number for each term, and 'weights' put sums in place of the terms; " + instead +
                      ", or leave out 'weights'",
                  place);
}

constexpr std::string_view kGroupBy = "group_by";
constexpr std::string_view kAggregate = "aggregate";
constexpr const char* kKeyHint = "; name it in 'group_by' for a row of each of its values";

std::string listed(const Schema& schema) { return join(schema.fields, std::mem_fn(&Schema::Field::name)); }

// Binds the expressions of one stage of a query: those before group_by see the input's columns, those after it the
// groups' columns.
class Scope {
 public:
  // Makes the scope of clauses over the input, whose texts name the first `own_columns` alone: those of keys are made
  // from them.
  Scope(const Schema& schema, std::size_t own_columns)
      : schema_(schema), places_(schema), input_(schema), own_columns_(own_columns), keys_(std::vector<GroupKey>()) {}

  // Makes that of later clauses. With groups, `groups` is the clause that replaced the columns of the input by those of
  // the schema, and `keys` are its keys.
  Scope(const Schema& schema, const Schema& input, std::string_view groups, const std::vector<GroupKey>& keys)
      : schema_(schema),
        places_(schema),
        input_(input),
        own_columns_(schema.fields.size()),
        groups_(groups),
        keys_(keys) {}

  bool has(std::string_view name) const { return places_.find(name).has_value(); }

  // Returns an expression whose texts are the columns that they name.
  Expression with_columns(const Expression& expression) const {
    return named(expression, [this](const std::string& name) {
      const std::optional<int> place = places_.find(name);
      return place && static_cast<std::size_t>(*place) < own_columns_;
    });
  }

  BoundExpression bind(const Expression& written) const {
    const Expression expression = keys_.of(with_columns(written));
    explain_unknown(root_of(expression), expression.location());
    return bind_expression(expression, places_);
  }

  BoundExpression bind_condition(const Expression& expression) const {
    BoundExpression bound = bind(expression);
    check_condition(bound);
    return bound;
  }

  // Finds the columns of keys over the table.
  std::vector<int> bind_keys(const std::vector<GroupKey>& keys) const {
    std::vector<int> indices;
    for (const GroupKey& key : keys) {
      const auto column = std::make_shared<const Node>(root_of(Expression::column(key.name)));
      const Location& place = key.expression.location();
      indices.push_back(bind(key.is_column() ? key.expression : make_expression(column, place)).column);
    }
    return indices;
  }

  // Finds the columns of partitions of groups.
  std::vector<int> bind_partitions(const std::vector<GroupKey>& keys) const {
    std::vector<int> indices;
    for (const GroupKey& key : keys) {
      const Expression column = keys_.of(with_columns(key.expression));
      const bool has_name = key.name != output_name(key.expression);
      check_partition(column, has_name ? key.name : output_name(column));
      indices.push_back(bind(column).column);
    }
    return indices;
  }

  // Returns true if an expression is nothing but the name of a pseudo-column that no column hides.
  bool is_pseudo(const Expression& expression) const { return is_pseudo(root_of(expression)); }

 private:
  static void check_partition(const Expression& key, const std::string& name) {
    if (key.column_name() == name) return;
    if (!key.column_name().empty()) {
      throw BindError("'partition_by' takes columns of the groups by their names, not the column " +
                          std::string(key.column_name()) + " as " + name + "; name it in 'group_by'",
                      key.location());
    }
    throw BindError(
        "'partition_by' takes columns of the groups, not the expression " + key.text() + "; add it to 'group_by'",
        key.location());
  }

  bool is_pseudo(const Node& node) const {
    return node.op == Op::column && !node.exact && is_pseudo_column(node.name) && !places_.find(node.name);
  }

  // Names that mean something elsewhere in a query deserve more than "there is no such column".
  void explain_unknown(const Node& node, const Location& origin) const {
    if (node.op == Op::column && !places_.find(node.name)) {
      const Location place = place_of(node, origin);
      if (is_pseudo(node)) {
        const bool ranks = measure_named(node.name).has_value();
        throw BindError(in_quotes(node.name) + " stands only in " + (ranks ? "'rank_by' and 'select'" : "'select'") +
                            ", and there on its own",
                        place);
      }
      if (input_.find(node.name)) {
        throw BindError("the column " + in_quotes(node.name) + " does not outlive " + in_quotes(groups_) +
                            ": after it there are " + listed(schema_) + (groups_ == kAggregate ? kKeyHint : ""),
                        place);
      }
    }
    for (const NodePtr& child : node.children) explain_unknown(*child, origin);
  }

  const Schema& schema_;
  const SchemaPlaces places_;
  const SchemaPlaces input_;
  const std::size_t own_columns_;
  const std::string_view groups_ = kGroupBy;
  const KeyNames keys_;  // none over the input
};

DataType aggregate_type(Aggregate::Function function, const std::optional<BoundExpression>& argument) {
  if (function == Aggregate::Function::count) return Type::int64;
  const Type type = argument->type.type;
  const bool extreme = function == Aggregate::Function::min || function == Aggregate::Function::max;
  if (extreme) return argument->type;
  if (!is_numeric(type)) {
    throw BindError(in_quotes(word_for(function)) + " needs a number, and its argument is " + argument->text + " (" +
                        to_string(argument->type) + ")",
                    argument->location);
  }
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

BoundGroup bind_group(const Query& query, const std::vector<GroupKey>& keys, const Scope& scope) {
  BoundGroup group;
  group.columns = scope.bind_keys(keys);
  for (const Aggregate& aggregate : query.aggregate()) group.aggregates.push_back(bind_aggregate(aggregate, scope));
  return group;
}

Schema schema_of(const BoundGroup& group, const Schema& input) {
  Schema schema;
  for (const int column : group.columns) schema.fields.push_back(input.fields[static_cast<std::size_t>(column)]);
  for (const BoundAggregate& aggregate : group.aggregates) {
    const bool is_text = aggregate.type.type == Type::string && aggregate.argument->column >= 0;
    schema.fields.push_back(
        {aggregate.name, aggregate.type,
         is_text ? input.fields[static_cast<std::size_t>(aggregate.argument->column)].order : nullptr});
  }
  return schema;
}

// Returns the word of a pseudo-column without the parentheses of `row()`.
std::string_view pseudo_word(const Expression& expression) {
  std::string_view word = expression.column_name();
  if (word.ends_with("()")) word.remove_suffix(2);
  return word;
}

// Returns the place of a measure among those of a query; nothing for other expressions.
std::optional<std::size_t> bind_measure(const Expression& expression, const Query& query, const Scope& scope,
                                        BoundQuery& bound) {
  if (!scope.is_pseudo(expression)) return std::nullopt;
  const auto kind = measure_named(expression.column_name());
  if (!kind) return std::nullopt;
  const std::string text = in_quotes(expression.text());
  if (!bound.preference) throw BindError(text + " needs 'prefer'", expression.location());
  if (*kind != MeasureKind::level) check_flat_pareto(*bound.preference, text, expression.location());
  BoundMeasure measure{*kind, *kind == MeasureKind::level ? Type::int32 : Type::int64, expression.text()};
  if (!is_count(*kind)) {
    const std::size_t terms = check_number_terms(
        *query.prefer(), text, [&](const Expression& term) { return scope.bind(term); }, expression.location());
    measure.type = Type::float64;
    if (*kind == MeasureKind::contribution || !root_of(expression).children.empty()) {
      refuse_corners(*query.prefer(), text, "use 'crowding()', 'compromise()' or 'dominates()'", expression.location());
    }
    if (*kind != MeasureKind::crowding) {
      measure.numbers = bind_numbers(root_of(expression), *kind, terms, expression.location());
    }
  }
  const auto known = std::ranges::find(bound.measures, measure.text, &BoundMeasure::text);
  if (known == bound.measures.end()) {
    bound.measures.push_back(std::move(measure));
    return bound.measures.size() - 1;
  }
  return static_cast<std::size_t>(known - bound.measures.begin());
}

// A value of the measure's type, for what looks at the expressions of a ranking.
BoundExpression placeholder_of(const BoundMeasure& measure, const Location& location) {
  const bool is_float = measure.type.type == Type::float64;
  const BoundPtr zero = is_float ? make_literal(0.0, Type::float64) : make_literal(std::int64_t{0}, Type::int64);
  return {zero, measure.type, -1, measure.text, location};
}

// A ranking from the first row to the last needs no values: rows that are equal keep their order.
void explain_row_order(const RankTerm& term, const Scope& scope) {
  if (term.high || !scope.is_pseudo(term.expression) || pseudo_word(term.expression) != "row") return;
  throw BindError(in_quotes(term.expression.column_name()) +
                      " stands only in 'select'; a ranking by (0) keeps the rows in the order of the table",
                  term.expression.location());
}

std::vector<BoundRankTerm> bind_ranking(const Query& query, const Scope& scope, BoundQuery& bound) {
  const MissingFirst first = missing_first(query);
  std::vector<BoundRankTerm> ranking;
  for (const RankTerm& term : query.rank_by()) {
    if (const auto measure = bind_measure(term.expression, query, scope, bound)) {
      const BoundExpression value = placeholder_of(bound.measures[*measure], term.expression.location());
      ranking.push_back({value, term.high, first.nulls, measure});
      continue;
    }
    explain_row_order(term, scope);
    BoundExpression values = scope.bind(term.expression);
    if (first.nan && is_floating(values.type.type)) {
      ranking.push_back({scope.bind(stands_first(term.expression, first)), true, false});
    }
    ranking.push_back({std::move(values), term.high, first.nulls});
  }
  return ranking;
}

BoundOutput bind_pseudo(const SelectItem& item, const Query& query, BoundQuery& bound, const Scope& scope) {
  BoundOutput output;
  output.name = item.name;
  const std::string_view word = pseudo_word(item.expression);
  if (word == "row") {
    output.kind = BoundOutput::Kind::row;
  } else if (word == "level") {
    if (!bound.preference) throw BindError("selecting 'level' needs 'prefer'", item.expression.location());
    output.kind = BoundOutput::Kind::level;
  } else if (const auto measure = bind_measure(item.expression, query, scope, bound)) {
    output.kind = BoundOutput::Kind::measure;
    output.measure = *measure;
  } else if (!bound.ranking.empty() && bound.ranking.front().measure) {
    output.kind = BoundOutput::Kind::measure;
    output.measure = *bound.ranking.front().measure;
  } else {
    if (bound.ranking.empty()) throw BindError("selecting 'score' needs 'rank_by'", item.expression.location());
    output.kind = BoundOutput::Kind::score;
    output.expression = scope.bind(query.rank_by().front().expression);
  }
  return output;
}

BoundOutput bind_output(const SelectItem& item, const Query& query, BoundQuery& bound, const Scope& scope) {
  if (scope.is_pseudo(item.expression)) return bind_pseudo(item, query, bound, scope);
  BoundOutput output;
  output.name = item.name;
  const Expression column = scope.with_columns(item.expression);
  const bool is_named = &root_of(column) != &root_of(item.expression);
  if (is_named && item.name == output_name(item.expression)) output.name = output_name(column);
  output.expression = scope.bind(item.expression);
  return output;
}

// `row` and every column but those of expressions without a name; `row()` where a column bears the name `row`.
std::vector<SelectItem> default_selection(const Schema& schema, const std::vector<GroupKey>& keys, const Scope& scope) {
  std::set<std::string_view> hidden;
  for (const GroupKey& key : keys) {
    if (!key.is_column() && key.name == output_name(key.expression)) hidden.insert(key.name);
  }
  std::vector<SelectItem> items;
  const std::string row = scope.has("row") ? "row()" : "row";
  if (!scope.has(row)) items.push_back({row, Expression(row)});
  for (const Schema::Field& field : schema.fields) {
    if (!hidden.contains(field.name)) items.push_back({field.name, Expression::column(field.name)});
  }
  return items;
}

// Checks the names of an answer, of which a text that names a column has another than in the query.
void check_output_names(const Query& query, const std::vector<BoundOutput>& outputs) {
  const auto same = [](const BoundOutput& output, const SelectItem& item) { return output.name == item.name; };
  if (std::ranges::equal(outputs, query.select(), same)) return;
  std::set<std::string_view> names;
  for (const BoundOutput& output : outputs) {
    if (names.insert(output.name).second) continue;
    throw QueryError("'select' names " + in_quotes(output.name) + " twice", location_of(query));
  }
}

BoundQuery bind_checked(const Query& query, const TableKeys& keys, const Schema& schema) {
  check_keys(query, keys.keys);
  BoundQuery bound;
  bound.name = query.name();
  bound.from = query.from();
  bound.location = location_of(query);
  const Scope input(schema, keys.own_columns);
  if (query.where()) bound.condition = input.bind_condition(*query.where());
  if (query.has_groups()) bound.group = bind_group(query, keys.keys, input);

  const Schema answer_schema = bound.group ? schema_of(*bound.group, schema) : schema;
  const std::vector<GroupKey> no_keys;
  const std::vector<GroupKey>& partitions = bound.group ? no_keys : keys.keys;
  const Scope answer(answer_schema, schema, query.group_by().empty() ? kAggregate : kGroupBy,
                     bound.group ? keys.keys : no_keys);
  if (query.having()) bound.having = answer.bind_condition(*query.having());
  bound.partition_columns = bound.group ? answer.bind_partitions(query.partition_by()) : answer.bind_keys(keys.keys);
  if (query.prefer()) {
    bound.preference =
        bind_preference(*query.prefer(), missing_first(query), [&](const Expression& e) { return answer.bind(e); });
  }
  bound.levels = query.levels();
  bound.at_least = query.at_least();
  if (query.skyband()) {
    check_flat_pareto(*bound.preference, "'skyband'", location_of(query));
    if (*query.skyband() > 1) bound.skyband = query.skyband();
  }
  bound.distinct = query.distinct();
  if (query.pick()) {
    if (query.pick()->by == Pick::By::hypervolume) {
      refuse_corners(*query.prefer(), "'pick' by hypervolume", "pick by distance or coverage", location_of(query));
    }
    bound.pick = bind_pick(*query.pick(), *bound.preference);
  }
  bound.ranking = bind_ranking(query, answer, bound);
  bound.offset = query.offset();
  bound.limit = query.limit();
  bound.ties = query.ties();
  bound.nan_rule = query.nan();
  bound.null_rule = query.nulls();
  bound.path = query.using_path();
  bound.path_locations = path_locations_of(query);

  const bool shows_all = query.select().empty();
  const auto items = shows_all ? default_selection(answer_schema, partitions, answer) : query.select();
  for (const SelectItem& item : items) bound.outputs.push_back(bind_output(item, query, bound, answer));
  if (!shows_all) check_output_names(query, bound.outputs);
  return bound;
}

}  // namespace

bool BoundQuery::measures_all_rows() const {
  return std::ranges::any_of(measures, [](const BoundMeasure& measure) { return measure.kind != MeasureKind::level; });
}

bool BoundQuery::measures_values() const {
  return std::ranges::any_of(measures, [](const BoundMeasure& measure) {
    return measure.kind == MeasureKind::crowding || measure.kind == MeasureKind::contribution ||
           measure.kind == MeasureKind::compromise;
  });
}

bool BoundQuery::asks_for_levels() const {
  const auto is_level = [](const auto& it) { return it.kind == std::remove_cvref_t<decltype(it)>::Kind::level; };
  return preference && (skyband != kAllRows || measures_values() || std::ranges::any_of(measures, is_level) ||
                        std::ranges::any_of(outputs, is_level));
}

Schema schema_of(const Table& table) {
  Schema schema;
  for (const Column& column : table.columns())
    schema.fields.push_back({column.name(), column.type(), exec::order_of(column.data())});
  return schema;
}

BoundQuery bind(const Query& query, const Schema& schema) {
  query.validate();
  const SchemaPlaces places(schema);
  const auto is_column = [&](const std::string& name) { return places.find(name).has_value(); };
  return bind(query, {named_keys(query, is_column), schema.fields.size()}, schema);
}

BoundQuery bind(const Query& query, const TableKeys& keys, const Schema& schema) {
  try {
    return bind_checked(query, keys, schema);
  } catch (const BindError& error) {
    // Expressions built without text have no place of their own: the query's is the next best.
    if (error.location().line > 0) throw;
    throw BindError(error.message(), location_of(query));
  }
}

}  // namespace skyrank::query
