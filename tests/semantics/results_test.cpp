#include <gtest/gtest.h>

#include "tests/build.hpp"
#include "tests/semantics/paths.hpp"
#include "tests/semantics/tables.hpp"

// Tests "Answers" of engine/docs/meaning.md.
namespace skyrank {
namespace {

Table hotels() {
  return Table({strings("city", {"Oslo", "Oslo", "Rome", "Rome", "Oslo"}), ints("price", {100, 80, 80, 120, 100}),
                ints("rating", {5, 3, 4, 5, 5})});
}

/// Ten rows with three different values: 0 0 0 | 1 1 1 1 | 2 2 2, in an order that is not sorted.
Table tied() { return Table({ints("a", {1, 0, 2, 1, 0, 2, 1, 0, 2, 1})}); }

TEST(Results, ASkylineComesInAscendingOrder) {
  expect_rows(from().prefer({low("price"), high("rating")}), hotels(), {0, 2, 4});
}

TEST(Results, ARankingComesInItsOrderThenByRow) {
  expect_rows(from().rank_by({low("price"), high("rating")}), hotels(), {2, 1, 0, 4, 3});
  expect_rows(from().rank_by({high("rating")}), hotels(), {0, 3, 4, 2, 1});
}

TEST(Results, RankByOrdersTheSkyline) {
  expect_rows(from().prefer({low("price"), high("rating")}).rank_by({high("price")}), hotels(), {0, 4, 2});
  expect_rows(from().prefer({low("price"), high("rating")}).rank_by({low("price")}).limit(1), hotels(), {2});
}

TEST(Results, TheFilterComesFirst) {
  expect_rows(from().where("city = 'Rome'").prefer({low("price"), high("rating")}), hotels(), {2, 3});
  expect_rows(from().where("rating < 5").rank_by({high("price")}).limit(1), hotels(), {1});
}

TEST(Results, EqualRowsAreAllKept) {
  const Table table({ints("a", {1, 1, 2}), ints("b", {1, 1, 0})});
  expect_rows(from().prefer({low("a"), low("b")}), table, {0, 1, 2});
}

TEST(Results, DistinctKeepsTheLowestRowOfEach) {
  const Table table({ints("a", {5, 1, 1, 2, 2, 1}), ints("b", {5, 1, 1, 0, 0, 1})});
  expect_rows(from().prefer({low("a"), low("b")}).distinct(true), table, {1, 3});
}

TEST(Results, DistinctIsAboutPreferenceValues) {
  const Table table({ints("a", {4, 6, 5, 6})});
  expect_rows(from().prefer(around("a", 5.5)).distinct(true), table, {1});
  expect_rows(from().prefer(around("a", std::int64_t{5})).distinct(true).levels(2), table, {0, 2});
  const Table absent({floats("a", {kNaN, -kNaN, kNaN})});
  expect_rows(from().prefer(low("a")).distinct(true), absent, {0});
}

/// Rows near a chain, with equal ones, so that there are many levels; `p` has three values.
Table near_chain(std::int64_t rows) {
  std::vector<std::vector<std::int64_t>> columns(4);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t place = i * 7919 % rows / 2;
    columns[0].push_back(place);
    columns[1].push_back(place + i % 3);
    columns[2].push_back(place + i % 4);
    columns[3].push_back(i % 3);
  }
  return Table({Column::own("a", columns[0]), Column::own("b", columns[1]), Column::own("c", columns[2]),
                Column::own("p", columns[3])});
}

TEST(Results, ManyLevels) {
  constexpr std::int64_t kRows = tests::kEmulated ? 30 : tests::kSanitized ? 60 : 150;
  const Table table = near_chain(kRows);
  const std::vector<Preference> preferences = {
      low("a"),
      pareto({low("a"), high("b")}),
      pareto({low("a"), low("b")}),
      pareto({low("a"), low("b"), low("c")}),
      prior({low("p"), pareto({low("a"), low("b")})}),
      prior({pareto({low("p"), low("a")}), low("b")}),
      prior({pareto({low("p"), low("b"), low("c")}), pareto({high("a"), low("c")})}),
      pareto({prior({pareto({low("a"), low("b")}), low("c")}), low("b")}),
  };
  std::vector<std::int64_t> limits{2, kRows - 1};
  if (!tests::kEmulated) limits.insert(limits.end(), {40, kRows, 1000});
  for (const Preference& preference : preferences) {
    expect_reference(from().prefer(preference).levels(kRows), table);
    expect_reference(from().prefer(preference).levels(17), table);
    for (const std::int64_t rows : limits) {
      expect_reference(from().prefer(preference).at_least(rows), table);
      expect_reference(from().prefer(preference).at_least(rows).distinct(true), table);
    }
    expect_reference(from().prefer(preference).levels(kRows).partition_by({"p"}), table);
    expect_reference(from().prefer(preference).at_least(20).partition_by({"p"}).distinct(true), table);
  }
}

TEST(Results, DistinctWithEveryOrder) {
  const Table table({ints("a", {1, 1, 1, 0, 1}), ints("b", {1, 1, 1, 2, 1}), ints("c", {4, 4, 3, 9, 3})});
  expect_rows(from().prefer(prior({pareto({low("a"), low("b")}), low("c")})).distinct(true), table, {2, 3});
  expect_reference(from().prefer(pareto({prior({pareto({low("a"), low("b")}), low("c")}), low("b")})).distinct(true),
                   table);
}

TEST(Results, LevelsPeelTheSkyline) {
  const Table table({ints("a", {3, 1, 2, 1, 4}), ints("b", {3, 1, 2, 1, 0})});
  const Query query = from().prefer({low("a"), low("b")});
  expect_levels(Query(query), table, {{1, 1}, {3, 1}, {4, 1}});
  expect_levels(Query(query).levels(2), table, {{1, 1}, {2, 2}, {3, 1}, {4, 1}});
  expect_levels(Query(query).levels(3), table, {{0, 3}, {1, 1}, {2, 2}, {3, 1}, {4, 1}});
  expect_levels(Query(query).levels(1000), table, {{0, 3}, {1, 1}, {2, 2}, {3, 1}, {4, 1}});
}

TEST(Results, AtLeastTakesWholeLevels) {
  const Query query = from().prefer(low("a"));
  expect_levels(Query(query).at_least(1), tied(), {{1, 1}, {4, 1}, {7, 1}});
  expect_levels(Query(query).at_least(3), tied(), {{1, 1}, {4, 1}, {7, 1}});
  expect_rows(Query(query).at_least(4), tied(), {0, 1, 3, 4, 6, 7, 9});
  expect_rows(Query(query).at_least(8), tied(), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  expect_rows(Query(query).at_least(1000), tied(), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  expect_rows(Query(query).at_least(0), tied(), {});
}

TEST(Results, DistinctRowsAreThoseThatAtLeastCounts) {
  expect_levels(from().prefer(low("a")).distinct(true).at_least(2), tied(), {{0, 2}, {1, 1}});
  expect_levels(from().prefer(low("a")).distinct(true).levels(3), tied(), {{0, 2}, {1, 1}, {2, 3}});
}

TEST(Results, LevelIsThereToSelect) {
  const Query query = from().prefer(low("a")).levels(2).rank_by({high("a")}).limit(5).select({"level", "row", "a"});
  for (const Path& path : paths(query, tied())) {
    const Result result = run(query, tied(), path);
    EXPECT_EQ(result.rows, (std::vector<RowId>{0, 3, 6, 9, 1}));
    EXPECT_EQ(result.levels, (std::vector<std::int32_t>{2, 2, 2, 2, 1}));
    for (std::int64_t i = 0; i < 5; ++i) {
      EXPECT_EQ(result.table.column("level").value(i), Value(std::int64_t{result.levels[i]}));
      EXPECT_EQ(result.table.column("row").value(i), Value(result.rows[i]));
    }
  }
}

TEST(Results, ScoreIsTheFirstRankingValue) {
  const Query query = from().rank_by({high("rating * 2"), low("price")}).limit(2).select({"score", "city"});
  for (const Path& path : paths(query, hotels())) {
    const Result result = run(query, hotels(), path);
    EXPECT_EQ(result.table.column("score").value(0), Value(std::int64_t{10}));
    EXPECT_EQ(result.table.column("city").value(1), Value(std::string("Oslo")));
  }
}

TEST(Results, AColumnHidesThePseudoColumnOfItsName) {
  const Table table({strings("row", {"x", "y"}), ints("a", {2, 1})});
  const Result result = Engine().run(from().rank_by({low("a")}).select({"row"}), table);
  EXPECT_EQ(result.table.column("row").value(0), Value(std::string("y")));
}

TEST(Results, WithoutSelectRowAndEveryColumn) {
  const Result result = Engine().run(from().rank_by({low("price")}).limit(1), hotels());
  std::vector<std::string> names;
  for (const Column& column : result.table.columns()) names.push_back(column.name());
  EXPECT_EQ(names, (std::vector<std::string>{"row", "city", "price", "rating"}));
  EXPECT_EQ(result.table.column("row").type(), DataType(Type::int64));
}

TEST(Results, SelectedColumnsKeepTypeAndValue) {
  for (const DataType type : preference_types()) {
    SCOPED_TRACE(to_string(type));
    const Table table({column_of(type, "a", {1, 0, std::nullopt})});
    const Result result = Engine().run(from().rank_by({high("a")}).select({"a"}), table);
    EXPECT_EQ(result.table.column("a").type(), type);
    for (std::int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(result.table.column("a").value(i), table.column("a").value(result.rows[static_cast<std::size_t>(i)]));
    }
  }
}

TEST(Results, SelectedExpressionsAreOfTheAnswerOnly) {
  // a - 1 overflows on row 0, which is not in the answer.
  const Table table({ints("a", {kMinInt64, 7})});
  const Result result = Engine().run(from().rank_by({high("a")}).limit(1).select({"a - 1"}), table);
  EXPECT_EQ(result.table.column("a - 1").value(0), Value(std::int64_t{6}));
}

TEST(Results, TiesFirstTakesTheLowestRows) {
  expect_rows(from().rank_by({low("a")}).limit(5), tied(), {1, 4, 7, 0, 3});
  expect_rows(from().rank_by({low("a")}).limit(5).ties(Ties::first), tied(), {1, 4, 7, 0, 3});
  expect_rows(from().rank_by({low("a")}).limit(2), tied(), {1, 4});
}

TEST(Results, TiesLastTakesTheHighestRowsInAscendingOrder) {
  expect_rows(from().rank_by({low("a")}).limit(5).ties(Ties::last), tied(), {1, 4, 7, 6, 9});
  expect_rows(from().rank_by({low("a")}).limit(2).ties(Ties::last), tied(), {4, 7});
  expect_rows(from().rank_by({low("a")}).limit(3).ties(Ties::last), tied(), {1, 4, 7});
}

TEST(Results, TiesAllTakesEveryRowEqualToTheLast) {
  expect_rows(from().rank_by({low("a")}).limit(5).ties(Ties::all), tied(), {1, 4, 7, 0, 3, 6, 9});
  expect_rows(from().rank_by({low("a")}).limit(1).ties(Ties::all), tied(), {1, 4, 7});
  expect_rows(from().rank_by({low("a")}).limit(3).ties(Ties::all), tied(), {1, 4, 7});
}

TEST(Results, TiesAnyGivesTheRightKeys) {
  for (std::int64_t limit = 0; limit <= 11; ++limit) {
    const Query query = from().rank_by({low("a")}).limit(limit).ties(Ties::any);
    const Result expected = Engine().run(Query(query).ties(Ties::first), tied());
    for (const Path& path : paths(query, tied())) {
      const Result result = run(query, tied(), path);
      ASSERT_EQ(result.rows.size(), expected.rows.size()) << path.name;
      for (std::size_t i = 0; i < result.rows.size(); ++i) {
        EXPECT_EQ(tied().column("a").value(result.rows[i]), tied().column("a").value(expected.rows[i])) << path.name;
        const bool same_key_before =
            i > 0 && tied().column("a").value(result.rows[i - 1]) == tied().column("a").value(result.rows[i]);
        EXPECT_TRUE(!same_key_before || result.rows[i - 1] < result.rows[i]) << path.name;
      }
    }
  }
}

TEST(Results, OffsetIsAppliedFirstAndTheLastPlaceIsOffsetPlusLimit) {
  const auto page = [](std::int64_t offset, std::int64_t limit, Ties ties) {
    return from().rank_by({low("a")}).offset(offset).limit(limit).ties(ties);
  };
  expect_rows(page(2, 3, Ties::first), tied(), {7, 0, 3});
  expect_rows(page(2, 3, Ties::last), tied(), {7, 6, 9});
  expect_rows(page(2, 3, Ties::all), tied(), {7, 0, 3, 6, 9});
  expect_rows(page(4, 1, Ties::last), tied(), {9});
  expect_rows(page(4, 1, Ties::all), tied(), {3, 6, 9});
  expect_rows(page(10, 1, Ties::all), tied(), {});
  expect_rows(from().rank_by({low("a")}).offset(8), tied(), {5, 8});
  expect_rows(from().rank_by({low("a")}).offset(100), tied(), {});
  expect_rows(page(kMaxInt64 - 5, 5, Ties::last), tied(), {});
  expect_rows(page(5, kMaxInt64 - 5, Ties::all), tied(), {6, 9, 2, 5, 8});
}

TEST(Results, EveryWindowAgreesWithTheReference) {
  constexpr std::int64_t step = tests::kSanitized ? 3 : 1;
  for (const Ties ties : {Ties::first, Ties::last, Ties::all}) {
    for (std::int64_t offset = 0; offset <= 10; offset += step) {
      for (std::int64_t limit = 0; limit <= 11; limit += step) {
        expect_reference(from().rank_by({high("a")}).offset(offset).limit(limit).ties(ties), tied());
      }
    }
  }
}

TEST(Results, LimitWithoutRankingTakesTheFirstRows) {
  const Query query = from().prefer(high("rating")).limit(2);
  expect_rows(Query(query), hotels(), {0, 3});
  expect_rows(Query(query).offset(1), hotels(), {3, 4});
  expect_rows(Query(query).ties(Ties::all), hotels(), {0, 3});
}

TEST(Results, LimitAboveTheNumberOfRows) {
  expect_rows(from().rank_by({low("a")}).limit(1000), tied(), {1, 4, 7, 0, 3, 6, 9, 2, 5, 8});
  expect_rows(from().rank_by({low("a")}).limit(kMaxInt64).ties(Ties::all), tied(), {1, 4, 7, 0, 3, 6, 9, 2, 5, 8});
  expect_rows(from().rank_by({low("a")}).limit(10).ties(Ties::last), tied(), {1, 4, 7, 0, 3, 6, 9, 2, 5, 8});
  expect_rows(from().prefer(low("a")).limit(1000), tied(), {1, 4, 7});
}

TEST(Results, EmptyAnswersHaveTheRightColumns) {
  const Table empty({ints("a", {}), strings("s", {})});
  const Table some({ints("a", {1, 2}), strings("s", {"x", "y"})});
  const std::vector<std::pair<Query, Table>> cases{
      {from().rank_by({low("a")}).limit(0), some},
      {from().rank_by({low("a")}).limit(0).ties(Ties::all), some},
      {from().prefer(low("a")).limit(0), some},
      {from().where("a > 5").prefer(low("a")), some},
      {from().where("a > 5").rank_by({low("a")}).limit(3), some},
      {from().where("a > 5").prefer(prior({pareto({low("a"), high("a")}), low("a")})).levels(2), some},
      {from().prefer(low("a")), empty},
      {from().prefer(low("a")).levels(3).distinct(true), empty},
      {from().prefer(low("a")).at_least(3), empty},
      {from().rank_by({low("a"), high("a")}).limit(3), empty},
      {from().prefer(low("a")).partition_by({"s"}), empty},
      {from().where("a > 5").prefer(low("a")).partition_by({"s"}).rank_by({low("a")}), some},
  };
  for (const auto& [query, table] : cases) {
    for (const Path& path : paths(query, table)) {
      const Result result = run(query, table, path);
      EXPECT_EQ(result.table.num_rows(), 0);
      EXPECT_TRUE(result.rows.empty());
      ASSERT_EQ(result.table.num_columns(), 3);
      EXPECT_EQ(result.table.column("a").type(), DataType(Type::int64));
      EXPECT_EQ(result.table.column("s").type(), DataType(Type::string));
    }
  }
}

TEST(Results, OneRow) {
  const Table table({ints("a", {7})});
  expect_rows(from().prefer({low("a"), high("a")}), table, {0});
  expect_rows(from().rank_by({low("a")}).limit(5), table, {0});
  expect_rows(from().rank_by({low("a")}).offset(1), table, {});
  expect_rows(from().prefer(low("a")).at_least(0), table, {});
}

TEST(Results, SeveralRankingTermsOfAllWidths) {
  const Table table({ints("a", {kMaxInt64, kMinInt64, kMaxInt64, kMinInt64}), floats("b", {1, 2, 0, kNaN}),
                     Column::own<std::uint8_t>("c", {1, 2, 3, 4})});
  expect_rows(from().rank_by({high("a"), low("b"), low("c")}), table, {2, 0, 1, 3});
  expect_rows(from().rank_by({high("a"), low("b"), low("c")}).limit(3).ties(Ties::all), table, {2, 0, 1});
  expect_rows(from().rank_by({low("c"), high("a"), low("b")}).limit(1), table, {0});
}

}  // namespace
}  // namespace skyrank
