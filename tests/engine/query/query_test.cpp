#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <skyrank/query.hpp>
#include <skyrank/warnings.hpp>

#include "engine/query/left_out_columns.hpp"
#include "engine/query/locations.hpp"

namespace skyrank {
namespace {

Query cheap_and_good() { return Query::from("hotels").prefer({low("price"), high("rating")}); }

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const QueryError& error) {
    return error.what();
  }
  return "no error";
}

std::string refusal(const Query& query) {
  return error_of([&] { query.validate(); });
}

TEST(Query, IsBuiltByChaining) {
  const Query query = Query::from("hotels")
                          .name("good-deals")
                          .where("price <= 250")
                          .prefer({low("price"), high("rating")})
                          .rank_by({high("rating"), low("price")})
                          .offset(5)
                          .limit(20)
                          .ties(Ties::all)
                          .nan(Missing::exclude)
                          .nulls(Missing::error)
                          .select({"name", "price + 1"});
  query.validate();
  EXPECT_EQ(query.from(), "hotels");
  EXPECT_EQ(query.name(), "good-deals");
  EXPECT_EQ(query.where()->text(), "price <= 250");
  ASSERT_TRUE(query.prefer());
  EXPECT_EQ(query.prefer()->kind, Preference::Kind::pareto);
  EXPECT_EQ(query.prefer()->children.size(), 2u);
  EXPECT_TRUE(query.rank_by()[0].high);
  EXPECT_FALSE(query.rank_by()[1].high);
  EXPECT_EQ(query.offset(), 5);
  EXPECT_EQ(query.limit(), 20);
  EXPECT_EQ(query.ties(), Ties::all);
  EXPECT_EQ(query.nan(), Missing::exclude);
  EXPECT_EQ(query.nulls(), Missing::error);
  EXPECT_EQ(query.select()[0].name, "name");
  EXPECT_EQ(query.select()[1].name, "price + 1");
}

TEST(Query, SelectTakesExpressionsOrNamedItems) {
  const Query by_text = cheap_and_good().select({"name", "city"});
  const Query by_items = cheap_and_good().select({{"name", "name"}, {"city", "city"}});
  EXPECT_EQ(by_text, by_items);
  EXPECT_EQ(cheap_and_good().select({"`two words`"}).select()[0].name, "two words");
}

TEST(Query, EqualityIsOfMeaning) {
  Query moved = cheap_and_good();
  query::set_location(moved, {"hotels.yaml", 3, 5});
  EXPECT_EQ(moved, cheap_and_good());
  EXPECT_EQ(cheap_and_good().where("(price<=250)"), cheap_and_good().where("price <= 250"));
  EXPECT_EQ(Query::from("t").prefer({low("a")}), Query::from("t").prefer(low("a")));

  const Query base = cheap_and_good();
  const std::vector<Query> others = {
      cheap_and_good().name("x"),
      Query::from("hotel").prefer({low("price"), high("rating")}),
      cheap_and_good().where("price < 1"),
      cheap_and_good().group_by({"city"}),
      cheap_and_good().aggregate({count("n")}),
      cheap_and_good().partition_by({"city"}),
      Query::from("hotels").prefer({high("rating"), low("price")}),
      cheap_and_good().levels(1),
      cheap_and_good().at_least(1),
      cheap_and_good().skyband(1),
      cheap_and_good().distinct(true),
      cheap_and_good().rank_by({low("price")}),
      cheap_and_good().offset(1),
      cheap_and_good().limit(1),
      cheap_and_good().ties(Ties::any),
      cheap_and_good().nan(Missing::error),
      cheap_and_good().nulls(Missing::error),
      cheap_and_good().select({"price"}),
      cheap_and_good().timeout(std::chrono::seconds(1)),
      cheap_and_good().using_path({{"sort-first"}, DeviceChoice::cpu, {}}),
  };
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_FALSE(others[i] == base) << i;
}

TEST(Query, LimitsMayBeZeroAndLarge) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_NO_THROW(cheap_and_good().limit(0).validate());
  EXPECT_NO_THROW(cheap_and_good().limit(kMax).validate());
  EXPECT_NO_THROW(cheap_and_good().limit(kMax - 1).offset(1).validate());
  EXPECT_NO_THROW(cheap_and_good().ties(Ties::all).validate());
  EXPECT_NO_THROW(cheap_and_good().at_least(0).validate());
}

TEST(Query, ContradictionsAreRefused) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  struct Case {
    Query query;
    std::string message;
  };
  const std::vector<Case> cases = {
      {Query::from("t"), "the query asks for nothing: it needs 'prefer', 'rank_by', 'group_by' or 'aggregate'"},
      {Query::from("t").where("a > 1").limit(3),
       "the query asks for nothing: it needs 'prefer', 'rank_by', 'group_by' or 'aggregate'"},
      {cheap_and_good().levels(0), "'levels' must be at least 1, not 0"},
      {cheap_and_good().levels(-1), "'levels' must be at least 1, not -1"},
      {cheap_and_good().at_least(-1), "'at_least' must not be negative, but is -1"},
      {cheap_and_good().levels(2).at_least(3), "'levels' and 'at_least' exclude each other"},
      {cheap_and_good().skyband(0), "'skyband' must be at least 1, not 0"},
      {cheap_and_good().skyband(2).levels(3), "'skyband' and 'levels' exclude each other"},
      {cheap_and_good().skyband(2).at_least(3), "'skyband' and 'at_least' exclude each other"},
      {Query::from("t").rank_by({low("a")}).skyband(2), "'skyband' needs 'prefer'"},
      {Query::from("t").rank_by({low("a")}).levels(2), "'levels' needs 'prefer'"},
      {Query::from("t").rank_by({low("a")}).at_least(2), "'at_least' needs 'prefer'"},
      {Query::from("t").rank_by({low("a")}).distinct(true), "'distinct' needs 'prefer'"},
      {cheap_and_good().timeout(std::chrono::milliseconds(0)), "'timeout' must be at least 1 ms"},
      {cheap_and_good().limit(-1), "'limit' must not be negative, but is -1"},
      {cheap_and_good().offset(-2), "'offset' must not be negative, but is -2"},
      {cheap_and_good().offset(1).limit(kMax), "'offset' and 'limit' together exceed 9223372036854775807"},
      {cheap_and_good().having("price > 3"), "'having' needs 'group_by' or 'aggregate'; 'where' is for rows"},
      {cheap_and_good().aggregate({count("n")}).partition_by({"n"}),
       "'partition_by' has nothing to divide: 'aggregate' without 'group_by' gives one row"},
      {Query::from("t").group_by({"a", "`a`"}), "'group_by' names 'a' twice"},
      {Query::from("t").group_by({"a"}).aggregate({count("a")}),
       "the aggregate 'a' has the name of a column of 'group_by', which the answer has too; name it otherwise, such as "
       "'total_a'"},
      {Query::from("t").group_by({"a"}).aggregate({{"s", Aggregate::Function::sum, {}}}),
       "the aggregate 's' needs an argument"},
      {Query::from("t").group_by({"a + 1", "(a+1)"}), "'group_by' names 'a + 1' twice"},
      {cheap_and_good().partition_by({"a", "b", "a"}), "'partition_by' names 'a' twice"},
      {cheap_and_good().select({"a", "b", "a"}), "'select' names 'a' twice"},
      {cheap_and_good().select({{"", "a"}}), "a name in 'select' is empty"},
      {cheap_and_good().name("../etc"),
       "the query name '../etc' is no plain file name: use letters, digits, '-', '_' and '.', and no '.' in front"},
      {cheap_and_good().name(".hidden"),
       "the query name '.hidden' is no plain file name: use letters, digits, '-', '_' and '.', and no '.' in front"},
  };
  for (const Case& c : cases) EXPECT_EQ(refusal(c.query), c.message);
}

TEST(Query, ErrorsOfAQueryWithAPlaceNameIt) {
  Query query = Query::from("t");
  query::set_location(query, {"hotels.yaml", 7, 5});
  EXPECT_EQ(refusal(query),
            "hotels.yaml:7:5: the query asks for nothing: it needs 'prefer', 'rank_by', 'group_by' or 'aggregate'");
}

TEST(Preference, SixtyFourDimensionsAreTheMost) {
  const auto wide = [](int d) {
    std::vector<Preference> terms;
    for (int i = 0; i < d; ++i) terms.push_back(low("c" + std::to_string(i)));
    return terms;
  };
  EXPECT_EQ(refusal(Query::from("t").prefer(wide(64))), "no error");
  EXPECT_EQ(refusal(Query::from("t").prefer(wide(65))), "'prefer' has 65 dimensions; at most 64 are supported");
  EXPECT_EQ(refusal(Query::from("t").prefer({pareto(wide(40)), inverse(pareto(wide(25)))})),
            "'prefer' has 65 dimensions; at most 64 are supported");
  // A prior of single keys is one key, however many.
  EXPECT_EQ(refusal(Query::from("t").prefer(prior(wide(100)))), "no error");
  EXPECT_EQ(refusal(Query::from("t").prefer(prior({low("a"), pareto(wide(64))}))),
            "'prefer' has 65 dimensions; at most 64 are supported");
}

TEST(Warnings, ComparisonsWithNullOfferTheTest) {
  const auto warnings = warnings_of(
      Query::from("t").where("a > 1 or price = null").rank_by({low("case when null != b then 1 else 2 end")}));
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(to_string(warnings[0]),
            "expression:1:10: 'price = null' is NULL for every row, never true; to find NULLs write 'price is null'");
  EXPECT_NE(warnings[1].message.find("write 'b is not null'"), std::string::npos) << warnings[1].message;
  EXPECT_TRUE(warnings_of(Query::from("t").where("a is null and b in [1, null]").rank_by({low("b")})).empty());
}

TEST(Warnings, ColumnsThatAnAnswerWithEveryColumnLacks) {
  const Table whole({Column::own("a", std::vector<std::int64_t>{1})});
  const Table table = whole.with_unsupported(
      {{.name = "l", .type = "list<int64>"}, {.name = "g", .type = "binary", .reason = "row 3 is not UTF-8 text"}});
  Query every = Query::from("t").where("a = null").rank_by({low("a")});
  query::set_location(every, {.source = "batch.yaml", .line = 4, .column = 5});
  const auto warnings = warnings_of(every, table);
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(warnings[0], warnings_of(every).front());
  EXPECT_EQ(to_string(warnings[1]),
            "batch.yaml:4:5: left out of t: l (list<int64>), g (binary; row 3 is not UTF-8 text): skyrank cannot read "
            "their types");
  EXPECT_FALSE(query::left_out_columns(every, whole));
  EXPECT_FALSE(query::left_out_columns(Query(every).select({"a"}), table));
  EXPECT_FALSE(query::left_out_columns(Query::from("t").group_by({"a"}).aggregate({count("n")}), table));
}

TEST(Preference, DeepNestingIsRefused) {
  Preference deep = low("a");
  for (int i = 1; i < 100; ++i) deep = i % 2 == 0 ? inverse(std::move(deep)) : prior({std::move(deep)});
  EXPECT_EQ(refusal(Query::from("t").prefer(deep)), "no error");
  for (const auto& compose : {+[](Preference p) { return inverse(std::move(p)); },
                              +[](Preference p) {
                                return prior({low("b"), std::move(p)});
                              },
                              +[](Preference p) { return pareto({std::move(p)}); }}) {
    EXPECT_THROW(compose(deep), QueryError);
  }
  EXPECT_EQ(error_of([&] { inverse(deep); }), "preferences are nested more than 100 levels deep");
}

// A stack overflow would end the test program.
TEST(Preference, TreesOfAnyDepthEnd) {
  Preference deep = low("a");
  for (int i = 0; i < 100'000; ++i) {
    Preference outer;
    outer.kind = Preference::Kind::inverse;
    outer.children.push_back(std::move(deep));
    deep = std::move(outer);
  }
  EXPECT_THROW(inverse(std::move(deep)), QueryError);
}

TEST(Preference, BuildersRefuseWhatHasNoMeaning) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  struct Case {
    std::function<void()> call;
    std::string message;
  };
  const std::vector<Case> cases = {
      {[] { Query::from("t").prefer(std::vector<Preference>{}); }, "'prefer' needs at least one preference"},
      {[] { Query::from("t").rank_by({}); }, "'rank_by' needs at least one term"},
      {[] { Query::from("t").group_by({}); }, "'group_by' needs at least one column"},
      {[] { pareto({}); }, "'pareto' needs at least one preference"},
      {[] { prior({}); }, "'prior' needs at least one preference"},
      {[&] { around("a", nan); }, "'around' needs a number, a date or a timestamp as its 'target', not NaN"},
      {[] { between("a", Null{}, Null{}); }, "'between' needs 'from', 'to' or both"},
      {[&] { between("a", inf, -inf); }, "'between' goes from inf down to -inf; 'from' must not be above 'to'"},
      {[] { around("a", Null{}); }, "'around' needs a number, a date or a timestamp as its 'target', not null"},
      {[] { around("a", true); }, "'around' needs a number, a date or a timestamp as its 'target', not true"},
      {[] { between("a", 3, 2.5); }, "'between' goes from 3 down to 2.5; 'from' must not be above 'to'"},
      {[] { between("a", Date{1}, Date{0}); },
       "'between' goes from date '1970-01-02' down to date '1970-01-01'; 'from' must not be above 'to'"},
      {[] { in("a", {}); }, "'in' needs at least one set of values"},
      {[] {
         in("a", {{1}, {}});
       },
       "a set of 'in' is empty; leave it out"},
      {[] {
         in("a", {{"x", "y"}, {"x"}});
       },
       "'in' lists 'x' twice"},
      {[] {
         in("a", {{1, 2}, {2.0}});
       },
       "'in' lists 2 twice"},
      {[] { in("a", {{Null{}}}); }, "'in' cannot list NULL: it is worst, or best with nulls: best"},
      {[&] { in("a", {{nan}}); }, "'in' cannot list NaN: it is worst, or best with nan: best"},
      {[] { RankTerm(around("a", 1)); }, "'rank_by' takes 'low' and 'high', not 'around'"},
  };
  for (const Case& c : cases) EXPECT_EQ(error_of(c.call), c.message);
}

TEST(Query, NanAndNullsMayBeBest) {
  EXPECT_NO_THROW(cheap_and_good().nulls(Missing::best).validate());
  EXPECT_NO_THROW(cheap_and_good().nan(Missing::best).validate());
  EXPECT_NE(cheap_and_good().nan(Missing::best), cheap_and_good().nulls(Missing::best));
}

TEST(Preference, ValuesThatDifferAreNotDuplicates) {
  EXPECT_NO_THROW(in("a", {{1, "1", 1.5, true, Date{1}}}));
  EXPECT_NO_THROW(in("a", {{std::int64_t{1} << 53, static_cast<double>((std::int64_t{1} << 53) + 2)}}));
  // 2^53 + 1 is no double: an exact comparison keeps it apart from 2^53.
  EXPECT_NO_THROW(in("a", {{(std::int64_t{1} << 53) + 1, 9007199254740992.0}}));
  EXPECT_THROW(in("a", {{Timestamp{1, TimeUnit::second}, Timestamp{1000, TimeUnit::millisecond}}}), QueryError);
}

TEST(Preference, PartsSetByHandAreChecked) {
  Preference empty;
  EXPECT_EQ(refusal(Query::from("t").prefer(empty)), "'pareto' needs at least one preference");
  Preference bare;
  bare.kind = Preference::Kind::low;
  EXPECT_EQ(refusal(Query::from("t").prefer(bare)), "'low' needs an expression");
  EXPECT_THROW(RankTerm{bare}, QueryError);
  Preference twins = pareto({low("a"), low("b")});
  twins.kind = Preference::Kind::inverse;
  EXPECT_EQ(refusal(Query::from("t").prefer(twins)), "'inverse' takes one preference");
}

}  // namespace
}  // namespace skyrank
