#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/query/bind/binding.hpp"
#include "engine/query/locations.hpp"

namespace skyrank::query {
namespace {

const Schema& hotels() {
  static const Schema schema{{{"name", Type::string},
                              {"price", Type::float32},
                              {"stars", Type::uint8},
                              {"visits", Type::int32},
                              {"pool", Type::boolean},
                              {"opened", Type::date},
                              {"updated", DataType(Type::timestamp, TimeUnit::millisecond)},
                              {"two words", Type::int64}}};
  return schema;
}

Query query() { return Query::from("hotels").prefer({low("price")}); }

std::string error_of(const Query& q, const Schema& schema = hotels()) {
  try {
    bind(q, schema);
  } catch (const BindError& error) {
    return error.what();
  }
  return "no error";
}

BoundPreference bound(const Preference& preference) {
  return *bind(Query::from("hotels").prefer(preference), hotels()).preference;
}

std::vector<std::string> output_names(const BoundQuery& q) {
  std::vector<std::string> names;
  for (const BoundOutput& output : q.outputs) names.push_back(output.name);
  return names;
}

TEST(Schema, FindsNames) {
  const Schema named = hotels();
  EXPECT_EQ(SchemaPlaces(named).find("stars"), 2);
  EXPECT_EQ(SchemaPlaces(named).find("Stars"), std::nullopt);
  const Table table({Column::own("a", std::vector<std::int16_t>{1}), Column::own("b", std::vector<double>{2})});
  const Schema schema = schema_of(table);
  ASSERT_EQ(schema.fields.size(), 2u);
  EXPECT_EQ(schema.fields[1].name, "b");
  EXPECT_EQ(schema.fields[0].type, DataType(Type::int16));
}

TEST(Bind, CarriesTheQueryOver) {
  const BoundQuery q = bind(Query::from("hotels")
                                .name("n")
                                .where("price < 3 and pool")
                                .prefer({low("price")})
                                .at_least(7)
                                .distinct(true)
                                .rank_by({high("stars"), low("opened")})
                                .partition_by({"name", "`two words`"})
                                .offset(2)
                                .limit(3)
                                .ties(Ties::last)
                                .nan(Missing::error)
                                .nulls(Missing::exclude)
                                .using_path({{"sort"}, DeviceChoice::cpu, {{"threads", 2}}}),
                            hotels());
  EXPECT_EQ(q.name, "n");
  EXPECT_EQ(q.condition->type, DataType(Type::boolean));
  EXPECT_EQ(q.partition_columns, (std::vector<int>{0, 7}));
  EXPECT_EQ(q.preference->kind, Preference::Kind::low);
  EXPECT_EQ(q.preference->expression.column, 1);
  EXPECT_EQ(q.at_least, 7);
  EXPECT_EQ(q.levels, std::nullopt);
  EXPECT_TRUE(q.distinct);
  ASSERT_EQ(q.ranking.size(), 2u);
  EXPECT_TRUE(q.ranking[0].high);
  EXPECT_EQ(q.ranking[1].expression.column, 5);
  EXPECT_EQ(q.offset, 2);
  EXPECT_EQ(q.limit, 3);
  EXPECT_EQ(q.ties, Ties::last);
  EXPECT_EQ(q.nan_rule, Missing::error);
  EXPECT_EQ(q.null_rule, Missing::exclude);
  EXPECT_EQ(q.path.algorithms, std::vector<std::string>{"sort"});
}

TEST(Bind, AnswersWithRowAndEveryColumnByDefault) {
  const BoundQuery q = bind(query(), hotels());
  EXPECT_EQ(output_names(q), (std::vector<std::string>{"row", "name", "price", "stars", "visits", "pool", "opened",
                                                       "updated", "two words"}));
  EXPECT_EQ(q.outputs[0].kind, BoundOutput::Kind::row);
  EXPECT_EQ(q.outputs[8].expression.column, 7);
}

TEST(Bind, ARealColumnWinsOverAPseudoColumn) {
  const Schema schema{{{"row", Type::int64}, {"price", Type::int64}}};
  const BoundQuery all = bind(query(), schema);
  EXPECT_EQ(output_names(all), (std::vector<std::string>{"row()", "row", "price"}));
  EXPECT_EQ(all.outputs[0].kind, BoundOutput::Kind::row);
  EXPECT_EQ(all.outputs[1].kind, BoundOutput::Kind::expression);
  const BoundQuery some = bind(query().select({"row", "level"}), schema);
  EXPECT_EQ(some.outputs[0].kind, BoundOutput::Kind::expression);
  EXPECT_EQ(some.outputs[1].kind, BoundOutput::Kind::level);
}

TEST(Bind, SelectsPseudoColumns) {
  const BoundQuery q =
      bind(query().rank_by({high("stars * 2")}).select({{"id", "row"}, {"l", "level"}, {"s", "score"}}), hotels());
  EXPECT_EQ(output_names(q), (std::vector<std::string>{"id", "l", "s"}));
  EXPECT_EQ(q.outputs[0].kind, BoundOutput::Kind::row);
  EXPECT_EQ(q.outputs[1].kind, BoundOutput::Kind::level);
  EXPECT_EQ(q.outputs[2].kind, BoundOutput::Kind::score);
  EXPECT_EQ(q.outputs[2].expression.text, "stars * 2");
}

TEST(Bind, GroupsMakeANewTable) {
  const BoundQuery q = bind(Query::from("hotels")
                                .where("price > 0")
                                .group_by({"stars", "name"})
                                .aggregate({count("n"), sum("visitors", "visits"), sum("all_stars", "stars"),
                                            sum("money", "price"), avg("mean", "visits"), max("latest", "updated"),
                                            min("cheapest", "price"), max("twice", "visits * 2"), min("p", "pool")})
                                .rank_by({high("n")})
                                .prefer({low("mean")})
                                .partition_by({"stars"}),
                            hotels());
  ASSERT_TRUE(q.group);
  EXPECT_EQ(q.group->columns, (std::vector<int>{2, 0}));
  std::vector<DataType> types;
  for (const BoundAggregate& aggregate : q.group->aggregates) types.push_back(aggregate.type);
  EXPECT_EQ(types, (std::vector<DataType>{Type::int64, Type::int64, Type::uint64, Type::float64, Type::float64,
                                          DataType(Type::timestamp, TimeUnit::millisecond), Type::float32, Type::int64,
                                          Type::boolean}));
  EXPECT_EQ(q.ranking[0].expression.column, 2);
  EXPECT_EQ(q.partition_columns, std::vector<int>{0});
  EXPECT_EQ(output_names(q), (std::vector<std::string>{"row", "stars", "name", "n", "visitors", "all_stars", "money",
                                                       "mean", "latest", "cheapest", "twice", "p"}));
  EXPECT_EQ(q.outputs[1].expression.type, DataType(Type::uint8));
  EXPECT_EQ(columns_read(q), (std::vector<int>{0, 1, 2, 3, 4, 6}));
}

TEST(Bind, PushesInverseDownAndFlattens) {
  using Kind = Preference::Kind;
  const BoundPreference p = bound(inverse(pareto({low("price"), inverse(high("stars")), pareto({low("visits")}),
                                                  pareto({high("opened"), inverse(inverse(low("updated")))}),
                                                  prior({low("pool"), prior({high("price"), low("stars")})})})));
  ASSERT_EQ(p.kind, Kind::pareto);
  ASSERT_EQ(p.children.size(), 6u);
  const std::vector<Kind> kinds = {Kind::low, Kind::high, Kind::low, Kind::high, Kind::low, Kind::prior};
  const std::vector<bool> inverted = {true, false, true, true, true, false};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    EXPECT_EQ(p.children[i].kind, kinds[i]) << i;
    EXPECT_EQ(p.children[i].inverted, inverted[i]) << i;
  }
  const BoundPreference& last = p.children[5];
  ASSERT_EQ(last.children.size(), 3u);
  for (const BoundPreference& term : last.children) EXPECT_TRUE(term.inverted);

  EXPECT_EQ(bound(pareto({prior({inverse(low("price"))})})).kind, Kind::low);
}

TEST(Bind, GivesTargetsTheTypeOfTheirExpression) {
  EXPECT_EQ(bound(around("visits", 3)).target, Value(std::int64_t{3}));
  EXPECT_EQ(bound(around("visits", 3.0)).target, Value(std::int64_t{3}));
  EXPECT_EQ(bound(around("visits", 3.5)).target, Value(3.5));
  EXPECT_EQ(bound(around("visits", 1e300)).target, Value(1e300));
  EXPECT_EQ(bound(around("visits", -9223372036854775808.0)).target, Value(std::numeric_limits<std::int64_t>::min()));
  EXPECT_EQ(bound(around("visits", 9223372036854775808.0)).target, Value(std::uint64_t{1} << 63));
  EXPECT_EQ(bound(around("visits", 18446744073709551616.0)).target, Value(18446744073709551616.0));
  EXPECT_EQ(bound(around("price", 3)).target, Value(3.0));
  EXPECT_EQ(bound(around("opened", "1970-01-03")).target, Value(Date{2}));
  EXPECT_EQ(bound(around("opened", Date{2})).target, Value(Date{2}));
  EXPECT_EQ(bound(around("updated", "1970-01-01 00:00:01")).target, Value(Timestamp{1000, TimeUnit::millisecond}));
  EXPECT_EQ(bound(around("updated", "1970-01-02")).target, Value(Timestamp{86'400'000, TimeUnit::millisecond}));
  EXPECT_EQ(bound(around("updated", Date{-1})).target, Value(Timestamp{-86'400'000, TimeUnit::millisecond}));
  EXPECT_EQ(bound(around("updated", Timestamp{2'000'000, TimeUnit::microsecond})).target,
            Value(Timestamp{2000, TimeUnit::millisecond}));
  // Finer than the column's unit: kept.
  EXPECT_EQ(bound(around("updated", Timestamp{1, TimeUnit::nanosecond})).target,
            Value(Timestamp{1, TimeUnit::nanosecond}));
  // Beyond the column's range: kept.
  const Timestamp far{std::numeric_limits<std::int64_t>::max(), TimeUnit::second};
  EXPECT_EQ(bound(around("updated", far)).target, Value(far));
  const BoundPreference range = bound(between("opened", "1970-01-01", "1970-01-02"));
  EXPECT_EQ(range.target, Value(Date{0}));
  EXPECT_EQ(range.upper, Value(Date{1}));
  const BoundPreference sets = bound(in("stars", {{5.0, 4}, {3}}));
  EXPECT_EQ(sets.values, (std::vector<std::vector<Value>>{{Value(std::int64_t{5}), Value(std::int64_t{4})},
                                                          {Value(std::int64_t{3})}}));
  // 2^53 + 1 is no double: rounding it would make it equal to 2^53.
  constexpr std::int64_t kOdd = (std::int64_t{1} << 53) + 1;
  EXPECT_EQ(bound(in("price", {{kOdd, 0.5}})).values, (std::vector<std::vector<Value>>{{Value(kOdd), Value(0.5)}}));
  EXPECT_EQ(bound(in("name", {{"x"}})).values[0][0], Value(std::string("x")));
  EXPECT_EQ(bound(in("pool", {{true}})).values[0][0], Value(true));
  EXPECT_EQ(bound(in("opened", {{"1970-01-02"}})).values[0][0], Value(Date{1}));
}

TEST(Bind, ErrorsSayWhatWouldBeRight) {
  struct Case {
    Query query;
    std::string message;
  };
  const std::vector<Case> cases = {
      {Query::from("h").prefer(around("name", "x")),
       "expression:1:1: 'around' needs a number, a date or a timestamp to measure distances, not name (string)"},
      {Query::from("h").prefer(between("pool", 1, 2)),
       "expression:1:1: 'between' needs a number, a date or a timestamp to measure distances, not pool (bool)"},
      {Query::from("h").prefer(around("price", "x")),
       "expression:1:1: 'around' compares price (float32) with a string, 'x'; it needs a number"},
      {Query::from("h").prefer(around("opened", "1970-02-30")),
       "expression:1:1: 'around' compares opened (date) with a string, '1970-02-30'; it needs a date like "
       "'2017-05-01'"},
      {Query::from("h").prefer(around("opened", 5)),
       "expression:1:1: 'around' compares opened (date) with a number, 5; it needs a date like '2017-05-01'"},
      {Query::from("h").prefer(around("updated", "noon")),
       "expression:1:1: 'around' compares updated (timestamp[ms]) with a string, 'noon'; it needs a timestamp like "
       "'2017-05-01 12:00:00'"},
      {Query::from("h").prefer(between("opened", "1970-01-02", "1970-01-01")),
       "expression:1:1: 'between' goes from date '1970-01-02' down to date '1970-01-01'; 'from' must not be above "
       "'to'"},
      {Query::from("h").prefer(in("stars", {{"five"}})),
       "expression:1:1: 'in' compares stars (uint8) with a string, 'five'; it needs a number"},
      {Query::from("h").prefer(in("name", {{5}})),
       "expression:1:1: 'in' compares name (string) with a number, 5; it needs a string"},
      {Query::from("h").prefer(in("pool", {{1}})),
       "expression:1:1: 'in' compares pool (bool) with a number, 1; it needs true or false"},
      {Query::from("h").prefer(in("opened", {{"1970-01-02"}, {Date{1}}})),
       "expression:1:1: 'in' lists date '1970-01-02' twice"},
      {Query::from("h").prefer(where("price")), "expression:1:1: 'where' needs a condition, not price (float32)"},
      {query().where("price + 1"), "expression:1:1: 'where' needs a condition, not price + 1 (float64)"},
      {query().select({"score"}), "expression:1:1: selecting 'score' needs 'rank_by'"},
      {Query::from("h").rank_by({low("price")}).select({"level"}), "expression:1:1: selecting 'level' needs 'prefer'"},
      {query().select({"1 + level"}),
       "expression:1:5: 'level' stands only in 'rank_by' and 'select', and there on its own"},
      {query().where("row < 5"), "expression:1:1: 'row' stands only in 'select', and there on its own"},
      {Query::from("h").rank_by({low("row")}),
       "expression:1:1: 'row' stands only in 'select'; a ranking by (0) keeps the rows in the order of the table"},
      {Query::from("h").rank_by({low("row()")}),
       "expression:1:1: 'row()' stands only in 'select'; a ranking by (0) keeps the rows in the order of the table"},
      {Query::from("h").rank_by({high("row")}), "expression:1:1: 'row' stands only in 'select', and there on its own"},
      {Query::from("h").rank_by({low("level")}), "expression:1:1: 'level' needs 'prefer'"},
      {Query::from("h").prefer(low("price")).rank_by({high("2 * dominates()")}),
       "expression:1:5: 'dominates()' stands only in 'rank_by' and 'select', and there on its own"},
      {Query::from("h").group_by({"name"}).aggregate({count("n")}).rank_by({low("price")}),
       "expression:1:1: the column 'price' does not outlive 'group_by': after it there are name, n"},
      {Query::from("h").group_by({"name"}).aggregate({sum("s", "opened")}),
       "expression:1:1: 'sum' needs a number, and its argument is opened (date)"},
      {Query::from("h").group_by({"name"}).aggregate({avg("s", "pool")}),
       "expression:1:1: 'avg' needs a number, and its argument is pool (bool)"},
      {Query::from("h").aggregate({count("n")}).rank_by({low("price")}),
       "expression:1:1: the column 'price' does not outlive 'aggregate': after it there are n; name it in 'group_by' "
       "for "
       "a row of each of its values"},
      {Query::from("h").group_by({"name"}).having("price > 3"),
       "expression:1:1: the column 'price' does not outlive 'group_by': after it there are name"},
      {Query::from("h").group_by({"name"}).aggregate({count("n")}).having("n + 1"),
       "expression:1:1: 'where' needs a condition, not n + 1 (int64)"},
  };
  for (const Case& c : cases) EXPECT_EQ(error_of(c.query), c.message);
}

TEST(Bind, UnknownNamesGetTheNearestOne) {
  for (const Query& q : {query().where("1 < prise"), query().rank_by({low("2 * prise")}), query().select({"0 + prise"}),
                         Query::from("h").prefer(high("1 - prise"))}) {
    const std::string message = error_of(q);
    EXPECT_EQ(message.substr(0, 15), "expression:1:5:") << message;
    EXPECT_NE(message.find("price"), std::string::npos) << message;
  }
  for (const Query& q : {query().partition_by({"prise"}), Query::from("h").group_by({"prise"})}) {
    const std::string message = error_of(q);
    EXPECT_EQ(message.substr(0, 15), "expression:1:1:") << message;
    EXPECT_NE(message.find("price"), std::string::npos) << message;
  }
}

TEST(Bind, QuotedPseudoColumnsAreLookedForInTheTable) {
  const std::string message = error_of(query().select({"`level`"}));
  EXPECT_NE(message.find("no column"), std::string::npos) << message;
}

TEST(Bind, ErrorsWithoutAPlaceOfTheirOwnTakeTheQuerys) {
  Query q = Query::from("h").prefer(low(Expression::column("prise")));
  set_location(q, {"batch.yaml", 4, 3});
  EXPECT_EQ(error_of(q).substr(0, 15), "batch.yaml:4:3:");
}

TEST(Bind, ValidatesFirst) { EXPECT_THROW(bind(Query::from("h"), hotels()), QueryError); }

TEST(ColumnsRead, AreThoseOfEveryPart) {
  const Query q = Query::from("hotels")
                      .where("stars > 1")
                      .prefer(pareto({low("price"), inverse(around("visits", 1))}))
                      .partition_by({"pool"})
                      .rank_by({low("opened")})
                      .select({"row", "upper + 1"});
  const std::vector<std::string> names = {"unused", "upper", "opened", "pool", "visits", "price", "stars"};
  EXPECT_EQ(columns_read(q, names), (std::vector<std::string>{"upper", "opened", "pool", "visits", "price", "stars"}));
  EXPECT_EQ(columns_read(query(), names), names);
  Schema schema;
  for (const std::string& name : names) schema.fields.push_back({name, Type::int64});
  schema.fields[3].type = Type::boolean;
  EXPECT_EQ(columns_read(bind(q, schema)), (std::vector<int>{1, 2, 3, 4, 5, 6}));
}

TEST(ColumnsRead, OfGroupsAreThoseBeforeThem) {
  const Query q =
      Query::from("t").where("a > 1").group_by({"b"}).aggregate({count("n"), sum("d", "c")}).rank_by({high("d")});
  EXPECT_EQ(columns_read(q, {"a", "b", "c", "d", "n"}), (std::vector<std::string>{"a", "b", "c"}));
}

}  // namespace
}  // namespace skyrank::query
