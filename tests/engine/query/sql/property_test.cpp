#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include <skyrank/query.hpp>

#include "engine/query/values.hpp"
#include "tests/engine/query/random_trees.hpp"

namespace skyrank::query {
namespace {

constexpr std::int64_t kMaxCount = std::numeric_limits<std::int64_t>::max() / 2;

bool flag() { return *rc::gen::arbitrary<bool>(); }

std::string random_name() {
  const std::string name = *rc::gen::element<std::string>(
      "price", "low", "Plus", "PRIOR", "where", "order", "count", "row", "level()", "dominates()", "skyband", "join",
      "distinct", "infinity", "two words", "a\"b", "a`b", "else", "date", "at", "by", "--", "n");
  return name;
}

Expression random_expression() { return make_expression(random_tree(*rc::gen::inRange(0, 4)), {}); }

Value random_member() {
  if (*rc::gen::inRange(0, 6) == 0) return std::numeric_limits<double>::infinity() * (flag() ? 1 : -1);
  const Value value = normalized(random_value());
  return std::holds_alternative<Null>(value) ? Value(std::string("null")) : value;
}

// A target is a number or a time.
Value random_target() {
  const Value value = random_member();
  return std::holds_alternative<bool>(value) ? Value(std::int64_t{5}) : value;
}

Value random_step() {
  return *rc::gen::element<Value>(std::int64_t{5}, 0.25, Decimal{1, 30}, std::string("10%"), std::string("0.5 h"));
}

Preference random_term() {
  switch (*rc::gen::inRange(0, 6)) {
    case 0: return flag() ? low(random_expression()) : step(low(random_expression()), random_step());
    case 1: return high(random_expression());
    case 2: return where(random_expression());
    case 3: return around(random_expression(), random_target());
    case 4:
      return flag() ? between(random_expression(), random_target(), Null{})
                    : between(random_expression(), Null{}, random_target());
    default: {
      const Value first = random_member();
      const Value second = random_member();
      if (compare(first, second) == 0) return in(random_expression(), {{first}});
      return flag() ? in(random_expression(), {{first}, {second}}) : in(random_expression(), {{first, second}});
    }
  }
}

Preference random_preference(int depth) {
  if (depth == 0 || *rc::gen::inRange(0, 3) == 0) return random_term();
  std::vector<Preference> children;
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) children.push_back(random_preference(depth - 1));
  switch (*rc::gen::inRange(0, 3)) {
    case 0: return pareto(std::move(children));
    case 1: return prior(std::move(children));
    default: return inverse(std::move(children[0]));
  }
}

std::vector<Expression> random_columns() {
  std::vector<Expression> columns;
  std::vector<std::string> names;
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
    const std::string name = random_name();
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    names.push_back(name);
    columns.push_back(Expression::column(name));
  }
  return columns;
}

/// Columns, some of them keys under another name, and expressions with names.
std::vector<GroupKey> random_keys() {
  std::vector<GroupKey> keys;
  for (const Expression& column : random_columns()) {
    const std::string name(column.column_name());
    keys.push_back(flag() ? GroupKey(column) : GroupKey(name, random_expression()));
  }
  return keys;
}

void add_groups(Query& query) {
  query.group_by({Expression::column("uid")});
  if (flag()) query.group_by({Expression::column("uid"), {"a key", random_expression()}});
  std::vector<Aggregate> aggregates;
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    const auto function = static_cast<Aggregate::Function>(*rc::gen::inRange(0, 5));
    Aggregate one{random_name() + std::to_string(i), function, std::nullopt};
    if (function != Aggregate::Function::count || flag()) one.argument = random_expression();
    aggregates.push_back(std::move(one));
  }
  query.aggregate(std::move(aggregates));
  if (*rc::gen::inRange(0, 3) == 0) query.having(Expression("uid > 3 or uid is null"));
}

void add_selection(Query& query) {
  std::vector<SelectItem> items;
  for (const Aggregate& aggregate : query.aggregate()) {
    if (*rc::gen::inRange(0, 4) > 0) items.push_back({aggregate.name, Expression::column(aggregate.name)});
  }
  for (const Expression& column : random_columns()) {
    items.push_back({std::string(column.column_name()), flag() ? column : random_expression()});
  }
  query.select(std::move(items));
}

void add_path(Query& query) {
  ForcedPath path;
  if (flag()) path.algorithms = {"sort-first", random_name()};
  if (flag()) path.without = {"fusion"};
  if (flag()) path.parameters = {{random_name(), *rc::gen::arbitrary<std::int64_t>()}};
  path.device = *rc::gen::element(DeviceChoice::automatic, DeviceChoice::cpu, DeviceChoice::cuda);
  query.using_path(path);
  query.nan(*rc::gen::element(Missing::worst, Missing::exclude, Missing::error, Missing::best));
  query.nulls(*rc::gen::element(Missing::worst, Missing::exclude, Missing::error, Missing::best));
  if (flag()) query.timeout(std::chrono::milliseconds(*rc::gen::inRange(1, 100'000'000)));
  if (flag()) query.name("a-name_1.x");
}

Pick random_pick() {
  const auto by = static_cast<Pick::By>(*rc::gen::inRange(0, 3));
  const std::vector<double> reference = {-1.5, 1e30, 3};
  return {*rc::gen::inRange<std::int64_t>(1, kMaxCount), by,
          by == Pick::By::hypervolume ? reference : std::vector<double>{}};
}

Query random_query() {
  Query query = Query::from(*rc::gen::element<std::string>("t", "a b", "x/y.csv", "select", "it's.csv", "*.parquet"));
  if (flag()) query.where(random_expression());
  if (flag()) add_groups(query);
  if (flag()) query.partition_by(random_keys());
  if (flag()) {
    query.prefer(random_preference(3)).distinct(flag());
    if (*rc::gen::inRange(0, 4) == 0) {
      query.prefer(feasible(random_expression(), {random_expression()}, random_preference(2)));
    }
    if (flag()) query.levels(*rc::gen::inRange<std::int64_t>(1, kMaxCount));
    if (flag()) query.pick(random_pick());
    if (!query.levels() && flag()) query.skyband(flag() ? kAllRows : *rc::gen::inRange<std::int64_t>(1, kMaxCount));
    if (!query.levels() && !query.skyband() && flag()) query.at_least(*rc::gen::inRange<std::int64_t>(0, kMaxCount));
  }
  if (flag() || !query.prefer()) {
    query.rank_by({RankTerm(random_expression(), flag()), RankTerm(Expression::column(random_name()), flag())});
  }
  if (flag())
    query.rank_by({high("level()"), low("compromise(0.25, " + std::to_string(*rc::gen::inRange(-9, 9)) + ")")});
  if (flag()) query.limit(*rc::gen::inRange<std::int64_t>(0, kMaxCount));
  if (flag()) query.offset(*rc::gen::inRange<std::int64_t>(0, kMaxCount));
  query.ties(*rc::gen::element(Ties::first, Ties::last, Ties::all, Ties::any));
  if (flag()) add_selection(query);
  if (flag()) add_path(query);
  return query;
}

RC_GTEST_PROP(SqlProperty, TextParsesBackToTheSameQuery, ()) {
  const Query query = random_query();
  try {
    query.validate();
  } catch (const QueryError&) {
    RC_DISCARD("two columns of one name, or too many dimensions");
  }
  const std::string text = to_sql(query);
  RC_LOG() << text << "\n";
  const Query parsed = Query::parse(text);
  RC_ASSERT(parsed == query);
  RC_ASSERT(to_sql(parsed) == text);
}

// Any text either parses or is refused with a place inside it.
RC_GTEST_PROP(SqlProperty, EveryTextParsesOrIsRefusedInPlace, ()) {
  const auto tokens = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "a", "1", "-", "not", "and", "(", ")", ",", "in", "between", "is", "null", "max(", "count(*)", "'x'", "'",
      "\"q\"", "=", "+", "*", "\n", "é", "\xFF", "where", "preferring", "low", "high", "plus", "prior to", "around",
      "else", "inverse", "partition by", "levels 2", "skyband all", "crowding()", "contribution(1", "order by", "desc",
      "limit 3", "with ties", "options (", "group by", "as", "skyline of", "--", "/*", "*/", ";", "nulls first",
      "aggregate", "join"));
  std::string text = "select a from t ";
  std::int64_t lines = 1;
  for (const std::string& token : tokens) {
    text += token + " ";
    lines += token == "\n" ? 1 : 0;
  }
  try {
    const Query parsed = Query::parse(text);
    RC_ASSERT(Query::parse(to_sql(parsed)) == parsed);
  } catch (const QueryError& error) {
    RC_ASSERT(error.location().line >= 1 && error.location().line <= lines);
    RC_ASSERT(error.location().column >= 1);
    RC_ASSERT(error.location().column <= static_cast<std::int64_t>(text.size()) + 1);
  }
}

}  // namespace
}  // namespace skyrank::query
