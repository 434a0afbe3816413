#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/fronts.hpp>
#include <skyrank/source.hpp>

#include "tests/semantics/expect_equal.hpp"
#include "tests/semantics/parts/parts.hpp"
#include "tests/semantics/paths.hpp"
#include "tests/semantics/tables.hpp"

// Tests "Measures of a row" and `skyband` of engine/docs/meaning.md.
namespace skyrank {
namespace {

/// Row 0 dominates 2, 3, 4; row 1 dominates 3, 4; rows 2 and 3 dominate 4, and so does its duplicate.
Table stairs() {
  return Table(
      {ints("a", {1, 2, 1, 3, 4, 4}), ints("b", {2, 1, 4, 3, 4, 4}), strings("s", {"x", "y", "x", "y", "x", "y"})});
}

Preference low_both() { return pareto({low("a"), low("b")}); }

/// Expects the values of the columns that a query selects, on every path.
void expect_values(const Query& query, const Table& table, const std::vector<std::vector<Value>>& cells) {
  for (const Path& path : paths(query, table)) {
    const Result result = run(query, table, path);
    ASSERT_EQ(result.table.num_columns(), static_cast<int>(cells.size())) << path.name;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const Column& column = result.table.column(static_cast<int>(c));
      std::vector<Value> found;
      for (std::int64_t i = 0; i < column.size(); ++i) found.push_back(column.value(i));
      EXPECT_EQ(found, cells[c]) << column.name() << ", " << path.name;
    }
  }
}

/// Expects that a query is refused in these words, by a run and by a plan.
template <class E>
void expect_refused(const Query& query, const Table& table, const std::vector<std::string>& words) {
  const Engine engine;
  for (const bool plans : {false, true}) {
    try {
      plans ? static_cast<void>(engine.explain(query, table)) : static_cast<void>(engine.run(query, table));
      ADD_FAILURE() << "not refused";
    } catch (const E& error) {
      for (const std::string& word : words) {
        EXPECT_NE(error.message().find(word), std::string::npos) << "no '" << word << "' in: " << error.message();
      }
    }
  }
}

std::vector<Value> numbers(const std::vector<std::int64_t>& values) { return {values.begin(), values.end()}; }

TEST(Skyband, RowsThatFewerThanKDominate) {
  const Query query = skyline_of(low_both());
  expect_levels(Query(query).skyband(1), stairs(), {{0, 1}, {1, 1}});
  expect_levels(Query(query).skyband(2), stairs(), {{0, 1}, {1, 1}, {2, 2}});
  expect_levels(Query(query).skyband(3), stairs(), {{0, 1}, {1, 1}, {2, 2}, {3, 2}});
  expect_levels(Query(query).skyband(4), stairs(), {{0, 1}, {1, 1}, {2, 2}, {3, 2}});
  expect_levels(Query(query).skyband(5), stairs(), {{0, 1}, {1, 1}, {2, 2}, {3, 2}, {4, 3}, {5, 3}});
  expect_levels(Query(query).skyband(kAllRows).select({"level"}), stairs(),
                {{0, 1}, {1, 1}, {2, 2}, {3, 2}, {4, 3}, {5, 3}});
}

TEST(Skyband, OfAllRowsHasLevelsWhereTheQueryAsksForThem) {
  const Query all = skyline_of(low_both()).skyband(kAllRows);
  const std::vector<std::int32_t> levels = {1, 1, 2, 2, 3, 3};
  for (const Query& silent :
       {all, Query(all).select({"dominates()", "dominated_by()"}), Query(all).rank_by({high("dominates()")}),
        Query(all).pick(Pick{2, Pick::By::distance, {}})}) {
    for (const Path& path : paths(silent, stairs())) EXPECT_TRUE(run(silent, stairs(), path).levels.empty());
  }
  for (const Query& asks :
       {Query(all).select({"level"}), Query(all).select({"level()"}), Query(all).select({"crowding()"}),
        Query(all).select({"compromise()"}), Query(all).select({"contribution(5, 5)"})}) {
    for (const Path& path : paths(asks, stairs())) EXPECT_EQ(run(asks, stairs(), path).levels, levels);
  }
  const Query ranked = Query(all).rank_by({high("level()"), low("a")}).limit(1);
  EXPECT_EQ(Engine().run(ranked, stairs()).levels, (std::vector<std::int32_t>{3}));
}

TEST(Skyband, OfOneTermKeepsTheBestValues) {
  const Table table({ints("a", {3, 1, 2, 1, 2})});
  expect_rows(skyline_of(low("a")).skyband(2), table, {1, 3});
  expect_rows(skyline_of(low("a")).skyband(3), table, {1, 2, 3, 4});
}

TEST(Skyband, DistinctRowsDominateOnce) {
  const Table table({ints("a", {1, 1, 2, 3}), ints("b", {1, 1, 2, 3})});
  const Query query = skyline_of(low_both()).skyband(2);
  expect_rows(query, table, {0, 1});
  expect_rows(Query(query).distinct(true), table, {0, 2});
  expect_values(Query(query).distinct(true).select({"dominated_by()", "dominates()"}), table,
                {numbers({0, 1}), numbers({2, 1})});
}

TEST(Skyband, MissingValuesFollowTheirRules) {
  const Table table({floats("a", {1, kNaN, 2, std::nullopt}), ints("b", {1, 0, 2, 3})});
  const Query query = skyline_of(low_both()).skyband(2).select({"row", "dominated_by()"});
  expect_values(query, table, {numbers({0, 1, 2}), numbers({0, 0, 1})});
  expect_values(Query(query).nulls(Missing::best), table, {numbers({0, 1, 2, 3}), numbers({0, 0, 1, 0})});
  expect_values(Query(query).nan(Missing::exclude), table, {numbers({0, 2}), numbers({0, 1})});
}

TEST(Measures, CountOverAllRowsThatTakePart) {
  const Query query = skyline_of(low_both()).select({"row", "level()", "dominated_by()", "dominates()"});
  expect_values(query, stairs(), {numbers({0, 1}), numbers({1, 1}), numbers({0, 0}), numbers({4, 3})});
  expect_values(Query(query).levels(2), stairs(),
                {numbers({0, 1, 2, 3}), numbers({1, 1, 2, 2}), numbers({0, 0, 1, 2}), numbers({4, 3, 2, 2})});
  expect_values(Query(query).skyband(kAllRows), stairs(),
                {numbers({0, 1, 2, 3, 4, 5}), numbers({1, 1, 2, 2, 3, 3}), numbers({0, 0, 1, 2, 4, 4}),
                 numbers({4, 3, 2, 2, 0, 0})});
  expect_values(Query(query).where("a != 3"), stairs(),
                {numbers({0, 1}), numbers({1, 1}), numbers({0, 0}), numbers({3, 2})});
}

TEST(Measures, CountWithinPartitions) {
  const Query query = skyline_of(low_both()).skyband(kAllRows).partition_by({"s"});
  expect_values(Query(query).select({"row", "dominated_by()", "dominates()"}), stairs(),
                {numbers({0, 2, 4, 1, 3, 5}), numbers({0, 1, 2, 0, 1, 2}), numbers({2, 1, 0, 2, 1, 0})});
  expect_rows(Query(query).rank_by({high("dominated_by()")}).limit(1), stairs(), {4, 5});
}

TEST(Measures, RankTheRows) {
  const Query query = skyline_of(low_both()).skyband(kAllRows);
  expect_rows(Query(query).rank_by({high("dominates()")}).limit(2), stairs(), {0, 1});
  expect_rows(Query(query).rank_by({low("dominates()"), high("row % 2")}).limit(2),
              Table({ints("a", {1, 2, 1, 3, 4, 4}), ints("b", {2, 1, 4, 3, 4, 4}), ints("row", {0, 1, 2, 3, 4, 5})}),
              {5, 4});
  expect_rows(Query(query).rank_by({high("level()"), low("a")}).limit(3), stairs(), {4, 5, 2});
  expect_rows(skyline_of(low_both()).at_least(3).rank_by({low("level()"), low("dominates()")}), stairs(), {1, 0, 2, 3});
  expect_rows(Query(query).rank_by({high("dominates()")}).limit(3).ties(Ties::all), stairs(), {0, 1, 2, 3});
  expect_values(Query(query).rank_by({high("dominates()")}).limit(1).select({"score", "a"}), stairs(),
                {numbers({4}), numbers({1})});
}

/// A front of four rows, a row behind it, and a duplicate of the third row.
Table front_and_more() { return Table({ints("a", {0, 1, 4, 6, 6, 4}), floats("b", {8, 4, 2, 0, 9, 2})}); }

TEST(Measures, Crowding) {
  // By a: 0, 1, 4, 4, 6; by b: 0, 2, 2, 4, 8. Equal values follow each other in the order of rows.
  const Query query = skyline_of(low_both()).select({"crowding()"});
  const double second = 4.0 / 6 + 6.0 / 8;
  const double third = 3.0 / 6 + 2.0 / 8;
  const double sixth = 2.0 / 6 + 2.0 / 8;
  expect_values(query, front_and_more(), {{kInfinity, second, third, kInfinity, sixth}});
  expect_values(Query(query).distinct(true), front_and_more(),
                {{kInfinity, 4.0 / 6 + 6.0 / 8, 5.0 / 6 + 4.0 / 8, kInfinity}});
  expect_values(Query(query).skyband(kAllRows), front_and_more(), {{kInfinity, second, third, kInfinity, 0.0, sixth}});
  expect_values(skyline_of(pareto({low("a"), low("a")})).select({"crowding()"}), front_and_more(), {{0.0}});
}

TEST(Measures, CrowdingIsThatOfTheArrayFunction) {
  const std::vector<double> points = {0, 8, 1, 4, 4, 2, 6, 0, 6, 9, 4, 2};
  const std::vector<double> expected = crowding_distances({points.data(), Type::float64, 6, 2, 16, 8});
  const Result result = Engine().run(skyline_of(low_both()).skyband(kAllRows).select({"crowding()"}), front_and_more());
  for (std::int64_t i = 0; i < 6; ++i)
    EXPECT_EQ(result.table.column(0).value(i), Value(expected[static_cast<std::size_t>(i)]));
}

/// Rows of one level that are sorted by all terms at the same time, with ties.
TEST(Measures, CrowdingOfALargeLevelIsThatOfTheArrayFunction) {
  constexpr int kRows = 5000;
  std::mt19937_64 random(3);
  std::vector<double> points;
  std::vector<std::optional<double>> first;
  std::vector<std::optional<double>> second;
  std::vector<std::optional<double>> third;
  for (int i = 0; i < kRows; ++i) {
    first.emplace_back(random() % 2000);
    second.emplace_back(static_cast<double>(random() % 2000) - 1000);
    third.emplace_back(-*first.back() - *second.back());  // no row dominates another
    points.insert(points.end(), {*first.back(), *second.back(), *third.back()});
  }
  const Table table({floats("a", first), floats("b", second), floats("c", third)});
  const std::vector<double> expected = crowding_distances({points.data(), Type::float64, kRows, 3, 24, 8});
  const Query query = skyline_of(pareto({low("a"), low("b"), low("c")})).select({"crowding()"});
  for (const int threads : {1, 2}) {
    const Result result = Engine({.threads = threads}).run(query, table);
    ASSERT_EQ(result.table.num_rows(), kRows);
    for (int i = 0; i < kRows; ++i) {
      ASSERT_EQ(result.table.column(0).value(i), Value(expected[static_cast<std::size_t>(i)])) << i;
    }
  }
}

TEST(Measures, TheSurvivalOfNsga2IsOneQuery) {
  const std::vector<double> points = {0, 8, 1, 4, 4, 2, 6, 0, 6, 9, 4, 2};
  for (std::int64_t count = 1; count <= 6; ++count) {
    const Query query =
        skyline_of(low_both()).at_least(count).rank_by({low("level()"), high("crowding()")}).limit(count);
    expect_rows(query, front_and_more(), nsga2_survivors({points.data(), Type::float64, 6, 2, 16, 8}, count));
  }
}

TEST(Measures, Contribution) {
  const Query query = skyline_of(low_both()).select({"contribution(7, 9)"});
  // (1 - 0) x (9 - 8), (4 - 1) x (8 - 4), twice the same row, (7 - 6) x (2 - 0)
  expect_values(query, front_and_more(), {{1.0, 12.0, 0.0, 2.0, 0.0}});
  expect_values(Query(query).distinct(true), front_and_more(), {{1.0, 12.0, 4.0, 2.0}});
  expect_values(skyline_of(low_both()).select({"contribution(6, 8)"}), front_and_more(), {{0.0, 12.0, 0.0, 0.0, 0.0}});
  const Table highest({ints("a", {3, 1}), ints("b", {1, 3})});
  expect_values(skyline_of(pareto({high("a"), high("b")})).select({"contribution(0, 0)"}), highest, {{2.0, 2.0}});
}

TEST(Measures, Compromise) {
  const Query query = skyline_of(low_both()).distinct(true);
  expect_values(Query(query).select({"compromise()"}), front_and_more(), {{1.0, 0.5, 4.0 / 6, 1.0}});
  expect_values(Query(query).select({"compromise(1, 0)"}), front_and_more(), {{0.0, 1.0 / 6, 4.0 / 6, 1.0}});
  expect_values(Query(query).select({"compromise(0.5, 1)"}), front_and_more(), {{1.0, 0.5, 2.0 / 6, 0.5}});
  expect_rows(Query(query).rank_by({low("compromise()")}).limit(1), front_and_more(), {1});
  const Table highest({ints("a", {3, 1, 2}), ints("b", {1, 3, 2})});
  expect_values(skyline_of(pareto({high("a"), high("b")})).select({"compromise()"}), highest, {{1.0, 1.0, 0.5}});
}

TEST(Measures, OfMissingAndInfiniteValues) {
  const Table table(
      {floats("a", {0, 1, 2, 3, kNaN, std::nullopt, -kInfinity, kInfinity}), floats("b", {3, 2, 1, 0, -1, -9, 4, -3})});
  const Query query = skyline_of(low_both()).select({"row", "crowding()", "contribution(4, 4)", "compromise()"});
  const Value none = Null{};
  expect_values(query, table,
                {numbers({0, 1, 2, 3, 5, 6, 7}),
                 {kInfinity, 2.0 / 3 + 2.0 / 7, 2.0 / 3 + 2.0 / 7, kInfinity, none, kInfinity, kInfinity},
                 {1.0, 1.0, 1.0, 1.0, none, none, 0.0},
                 {6.0 / 7, 5.0 / 7, 2.0 / 3, 1.0, none, 1.0, kInfinity}});
  expect_rows(Query(query).rank_by({low("compromise()")}), table, {2, 1, 0, 3, 6, 7, 5});
  expect_rows(Query(query).rank_by({low("compromise()")}).nulls(Missing::best).limit(2), table, {5});
}

TEST(Measures, NeedNumbersAndAsManyAsTerms) {
  expect_refused<BindError>(skyline_of(pareto({low("a"), low("s")})).select({"crowding()"}), stairs(),
                            {"'crowding()' needs 'low' and 'high' terms of numbers, not s (string)"});
  expect_refused<BindError>(skyline_of(pareto({low("a"), around("b", std::int64_t{2})})).select({"compromise()"}),
                            stairs(), {"not 'around'"});
  expect_refused<BindError>(skyline_of(low_both()).select({"contribution(1)"}), stairs(),
                            {"takes a number for each of the 2 terms, found 1"});
  expect_refused<BindError>(skyline_of(low_both()).select({"contribution()"}), stairs(), {"found 0"});
  expect_refused<BindError>(skyline_of(low_both()).select({"compromise(1, 2, 3)"}), stairs(),
                            {"no weight, or one for each of the 2 terms, found 3"});
  expect_refused<BindError>(skyline_of(low_both()).select({"compromise(1, -1)"}), stairs(), {"0 or more"});
  expect_refused<BindError>(skyline_of(low_both()).select({"compromise(0, 0)"}), stairs(), {"above 0"});
  EXPECT_THROW(Expression("crowding(1)"), QueryError);
  EXPECT_THROW(Expression("contribution(a)"), QueryError);
}

TEST(Measures, AreOfGroupsToo) {
  const Query query = from()
                          .group_by({"s"})
                          .aggregate({min("cheapest", "a"), max("most", "b")})
                          .prefer({low("cheapest"), low("most")})
                          .skyband(kAllRows)
                          .select({"s", "dominates()"});
  const Table table({ints("a", {1, 2, 3}), ints("b", {1, 2, 3}), strings("s", {"x", "y", "z"})});
  expect_values(query, table, {{std::string("x"), std::string("y"), std::string("z")}, numbers({2, 1, 0})});
}

TEST(Measures, OfNoRows) {
  const Query query = skyline_of(low_both()).where("a > 9").select({"dominated_by()", "dominates()"});
  expect_values(query, stairs(), {{}, {}});
  expect_values(Query(query).skyband(2), stairs(), {{}, {}});
  expect_values(Query(query).skyband(kAllRows).partition_by({"s"}), stairs(), {{}, {}});
}

TEST(Measures, AStoredColumnOfTheNameHidesThem) {
  const Table table({ints("a", {1, 2}), Column::own<std::int64_t>("dominates()", {7, 8})});
  expect_values(skyline_of(low("a")).select({Expression("dominates()")}), table, {numbers({7})});
}

TEST(Measures, NeedAFlatPreference) {
  const Preference nested = pareto({prior({pareto({low("a"), low("b")}), low("a")}), low("b")});
  expect_refused<BindError>(skyline_of(nested).skyband(2), stairs(), {"'skyband'", "'pareto'"});
  expect_refused<BindError>(skyline_of(nested).select({"dominates()"}), stairs(), {"'dominates()'", "'pareto'"});
  expect_rows(skyline_of(pareto({prior({low("a"), low("s")}), low("b")})).skyband(2), stairs(), {0, 1, 2});
  expect_rows(skyline_of(inverse(low_both())).skyband(3), stairs(), {2, 3, 4, 5});
}

TEST(Measures, CountBehindAConditionOfOneTermAlone) {
  const Preference one = feasible("a > 1", {"b"}, low("a"));
  const Query query = skyline_of(one).skyband(kAllRows).select({"dominated_by()", "dominates()"});
  expect_values(query, stairs(), {numbers({4, 0, 5, 1, 2, 2}), numbers({1, 5, 0, 4, 2, 2})});
  expect_rows(skyline_of(one).skyband(2), stairs(), {1, 3});
  const Preference several = feasible("a > 1", {"b"}, low_both());
  expect_refused<BindError>(skyline_of(several).skyband(2), stairs(), {"'skyband'", "'feasible'"});
  expect_refused<BindError>(skyline_of(several).select({"dominates()"}), stairs(), {"'dominates()'", "'feasible'"});
  expect_refused<BindError>(skyline_of(one).rank_by({high("crowding()")}), stairs(),
                            {"'low' and 'high' terms of numbers", "'feasible'"});
}

TEST(Measures, AreOfTheNumbersOfBoxes) {
  const Table table({ints("a", {0, 10, 29, 5}), ints("b", {29, 10, 0, 29})});
  const Query query = skyline_of(pareto({step(low("a"), std::int64_t{10}), low("b")}))
                          .select({"row", "dominated_by()", "crowding()", "compromise()", "contribution(3, 30)"});
  // Rows 0 and 3 are in one box, and so no row has a volume alone that the other has too.
  expect_values(query, table,
                {numbers({0, 1, 2, 3}),
                 numbers({0, 0, 0, 0}),
                 {kInfinity, 1.0 + 29.0 / 29, kInfinity, kInfinity},
                 {1.0, 0.5, 1.0, 1.0},
                 {0.0, 19.0, 10.0, 0.0}});
}

TEST(Measures, AreOfTheSumsOfWeights) {
  const Table table({ints("a", {1, 2, 4, 9}), ints("b", {8, 5, 4, 3})});
  // The corners are b alone and both alike: the terms are b and a + b.
  const Preference weighed = weighted({low("a"), low("b")}, {"b >= a"});
  const Query query = skyline_of(weighed).skyband(kAllRows).select({"dominated_by()", "dominates()", "compromise()"});
  expect_values(query, table, {numbers({2, 0, 0, 0}), numbers({0, 1, 1, 0}), {0.0, 1.0, 0.5, 1.0}});
}

TEST(Measures, OfWeightsTakeNoNumbersOfTerms) {
  const Table table({ints("a", {1, 2, 4, 9}), ints("b", {8, 5, 4, 3})});
  const Preference weighed = weighted({low("a"), low("b")}, {"b >= a"});
  const std::vector<std::string> words = {"'weights' put sums in place of the terms", "or leave out 'weights'"};
  for (const Preference& preference : {weighed, feasible("a > 1", {}, weighed), weighted({low("a")}, {})}) {
    for (const char* reference : {"contribution(9)", "contribution(9, 9)", "compromise(1, 2)"}) {
      if (preference.kind == Preference::Kind::prior) continue;  // refused as such
      expect_refused<BindError>(skyline_of(preference).select({reference}), table, words);
      expect_refused<BindError>(skyline_of(preference).rank_by({high(reference)}), table, words);
    }
    expect_refused<BindError>(skyline_of(preference).pick(Pick{2, Pick::By::hypervolume, {9, 9}}), table, words);
  }
  for (const Pick& pick : {Pick{2, Pick::By::distance, {}}, Pick{2, Pick::By::coverage, {}}}) {
    EXPECT_EQ(Engine().run(skyline_of(weighed).pick(pick), table).rows.size(), 2U);
  }
  // Who writes the sums knows their order.
  const Query written = skyline_of(pareto({low("b"), low("a + b")})).select({"contribution(9, 99)"});
  EXPECT_EQ(Engine().run(written, table).table.num_rows(), 3);
}

TEST(Measures, ComeBeforeThePick) {
  for (const Pick& pick :
       {Pick{2, Pick::By::distance, {}}, Pick{2, Pick::By::coverage, {}}, Pick{2, Pick::By::hypervolume, {9, 9}}}) {
    const Query query =
        skyline_of(low_both()).levels(2).pick(pick).select({"row", "level()", "dominated_by()", "dominates()"});
    expect_reference(query, stairs());
    expect_reference(Query(query).partition_by({"s"}).rank_by({high("dominates()"), low("level()")}), stairs());
    expect_reference(
        skyline_of(low_both()).skyband(3).pick(pick).rank_by({high("crowding()")}).select({"row", "crowding()"}),
        stairs());
  }
  const Query far = skyline_of(low_both()).skyband(kAllRows).pick(Pick{2, Pick::By::distance, {}});
  expect_values(Query(far).select({"row", "level", "dominated_by()", "dominates()"}), stairs(),
                {numbers({0, 4}), numbers({1, 3}), numbers({0, 4}), numbers({4, 0})});
  const Result result = Engine().run(Query(far).select({"dominates()"}), stairs());
  EXPECT_EQ(result.plan.children.front().op, "pick");
  EXPECT_EQ(result.plan.children.front().children.front().op, "measure");
  EXPECT_EQ(result.plan.children.front().children.front().measured_rows, 6);
}

TEST(Measures, NeedAPreferenceAndStandAlone) {
  expect_refused<BindError>(from().rank_by({high("dominates()")}), stairs(), {"'dominates()' needs 'prefer'"});
  expect_refused<BindError>(skyline_of(low_both()).rank_by({high("dominates() + 1")}), stairs(),
                            {"'rank_by' and 'select'", "on its own"});
  expect_refused<BindError>(skyline_of(low_both()).where("level() = 1"), stairs(), {"on its own"});
}

TEST(Skyband, ContradictsLevels) {
  expect_refused<QueryError>(skyline_of(low("a")).skyband(2).levels(2), stairs(), {"'skyband'", "'levels'"});
  expect_refused<QueryError>(skyline_of(low("a")).skyband(2).at_least(2), stairs(), {"'skyband'", "'at_least'"});
  expect_refused<QueryError>(skyline_of(low("a")).skyband(0), stairs(), {"at least 1, not 0"});
  expect_refused<QueryError>(from().rank_by({low("a")}).skyband(2), stairs(), {"'skyband' needs 'prefer'"});
  Query forced = skyline_of(low_both()).skyband(2);
  forced.using_path({.algorithms = {"sfs"}, .device = DeviceChoice::automatic, .parameters = {}});
  EXPECT_THROW(Engine().run(forced, stairs()), BindError);
}

TEST(Measures, ExplainShowsThem) {
  const Query query = skyline_of(low_both()).skyband(3).rank_by({high("dominates()")}).limit(2);
  const Result result = Engine().run(query, stairs());
  std::vector<std::string> ops;
  for (const PlanNode* node = &result.plan; node != nullptr;
       node = node->children.empty() ? nullptr : &node->children.front()) {
    ops.push_back(node->op);
    if (node->op == "skyband") {
      EXPECT_EQ(node->detail, "low a, low b; rows that fewer than 3 dominate");
      EXPECT_EQ(node->device, "cpu");
      EXPECT_EQ(node->measured_rows, 4);
    }
    if (node->op != "measure") continue;
    EXPECT_EQ(node->detail, "dominates()");
    EXPECT_EQ(node->measured_rows, 4);
    EXPECT_GT(node->predicted_ms, 0);
  }
  EXPECT_EQ(ops, (std::vector<std::string>{"gather", "top-k", "keys", "measure", "skyband", "keys", "scan"}));
}

TEST(Measures, OfPartsAndOfSourcesAreThoseOfTheWhole) {
  const Table table = stairs();
  const std::vector<SourceUnit> units(3, SourceUnit{2});
  const auto source = unit_source(table, units, [&](std::size_t unit, std::span<const int>) {
    const auto begin = static_cast<RowId>(2 * unit);
    return rows_of(table, begin, begin + 2);
  });
  const Engine engine({.threads = 1});
  const Query counted = skyline_of(low_both()).select({"s", "dominated_by()", "dominates()", "crowding()", "row"});
  for (const Query& query :
       {counted, Query(counted).skyband(3), Query(counted).skyband(kAllRows).rank_by({high("dominates()")}).limit(4),
        Query(counted).levels(2).rank_by({low("level()"), high("crowding()")}).distinct(true),
        skyline_of(low_both()).skyband(2), skyline_of(low_both()).skyband(2).partition_by({"s"}),
        skyline_of(low_both()).skyband(3).rank_by({high("level()")}).nulls(Missing::exclude),
        Query(counted).skyband(3).pick(Pick{2, Pick::By::distance, {}}),
        skyline_of(low_both()).skyband(3).pick(Pick{2, Pick::By::hypervolume, {5, 5}}).rank_by({high("level()")}),
        skyline_of(low_both()).skyband(2).pick(Pick{2, Pick::By::coverage, {}}).partition_by({"s"})}) {
    const Result whole = engine.run(query, table);
    expect_equal(engine.run(query, *source), whole);
    expect_equal(engine.merge(query, {engine.partial(query, rows_of(table, 0, 1), 0),
                                      engine.partial(query, rows_of(table, 1, 4), 1),
                                      engine.partial(query, rows_of(table, 4, 6), 4)}),
                 whole);
  }
}

/// Enough rows to be counted in halves; NaN and NULL are places behind all values, or before them.
TEST(Measures, CountManyRowsWithMissingValues) {
  constexpr int kRows = 4000;
  std::mt19937_64 random(5);
  std::vector<std::vector<int>> places(3);  // 90: NaN, 91: NULL
  std::vector<Column> columns;
  for (std::vector<int>& column : places) {
    std::vector<std::optional<double>> values;
    for (int i = 0; i < kRows; ++i) {
      column.push_back(static_cast<int>(random() % 92));
      values.push_back(column.back() == 91 ? std::nullopt : std::optional(column.back() == 90 ? kNaN : column.back()));
    }
    columns.push_back(floats("c" + std::to_string(columns.size()), values));
  }
  const Table table(std::move(columns));
  const Query query = skyline_of(pareto({low("c0"), low("c1"), high("c2")})).skyband(kAllRows);
  for (const bool best : {false, true}) {
    const auto place = [&](std::size_t c, int row) {
      const int code = places[c][static_cast<std::size_t>(row)];
      if (code == 91 && best) return -100;
      return code < 90 && c == 2 ? -code : code;
    };
    const auto dominates = [&](int a, int b) {
      bool better = false;
      for (std::size_t c = 0; c < 3; ++c) {
        if (place(c, a) > place(c, b)) return false;
        better = better || place(c, a) < place(c, b);
      }
      return better;
    };
    Query counted = Query(query).nulls(best ? Missing::best : Missing::worst);
    const Result result = Engine().run(counted.select({"dominates()", "dominated_by()"}), table);
    ASSERT_EQ(result.table.num_rows(), kRows);
    for (int row = 0; row < kRows; row += 37) {
      std::int64_t below = 0;
      std::int64_t above = 0;
      for (int other = 0; other < kRows; ++other) {
        below += dominates(row, other) ? 1 : 0;
        above += dominates(other, row) ? 1 : 0;
      }
      EXPECT_EQ(result.table.column(0).value(row), Value(below)) << row;
      EXPECT_EQ(result.table.column(1).value(row), Value(above)) << row;
    }
  }
}

TEST(Measures, OfManyRowsAgreeWithTheReference) {
  std::vector<std::optional<std::int64_t>> a;
  std::vector<std::optional<std::int64_t>> b;
  std::vector<std::optional<std::int64_t>> c;
  for (std::int64_t i = 0; i < 400; ++i) {
    a.emplace_back(i * 37 % 101);
    b.emplace_back(i * 53 % 97);
    c.emplace_back(i * 71 % 89);
  }
  const Table table({ints("a", a), ints("b", b), ints("c", c)});
  for (const Preference& preference : {low_both(), pareto({low("a"), low("b"), high("c")})}) {
    for (const std::int64_t k : {2, 7, 50}) {
      expect_reference(skyline_of(preference).skyband(k).select({"row", "level()", "dominated_by()", "dominates()"}),
                       table);
    }
  }
}

}  // namespace
}  // namespace skyrank
