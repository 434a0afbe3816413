#include <gtest/gtest.h>

#include "tests/semantics/paths.hpp"
#include "tests/semantics/tables.hpp"

// Tests "Groups and partitions" of engine/docs/meaning.md; the tests of the operator cover the aggregates.
namespace skyrank {
namespace {

/// Users b (rows 0, 2, 5), a (rows 1, 4), c (row 3).
Table tweets() { return Table({strings("uid", {"b", "a", "b", "c", "a", "b"}), ints("likes", {3, 10, 2, 9, 1, 2})}); }

TEST(Groups, AreRankedByTheirAggregates) {
  const Query query =
      from().group_by({"uid"}).aggregate({count("n"), max("loudest", "likes")}).rank_by({high("n")}).limit(2);
  expect_rows(query, tweets(), {0, 1});
  const Result result = Engine().run(query, tweets());
  EXPECT_EQ(result.table.column("uid").value(0), Value(std::string("b")));
  EXPECT_EQ(result.table.column("n").value(0), Value(std::int64_t{3}));
  EXPECT_EQ(result.table.column("loudest").value(1), Value(std::int64_t{10}));
}

TEST(Groups, RowOfAGroupIsItsFirstRow) {
  const Query query = from().group_by({"uid"}).aggregate({sum("s", "likes")}).rank_by({low("s")}).select({"row", "s"});
  expect_rows(query, tweets(), {0, 3, 1});
  const Result result = Engine().run(query, tweets());
  EXPECT_EQ(result.table.column("row").value(1), Value(std::int64_t{3}));
}

TEST(Groups, WithoutMoreAreTheAnswer) {
  expect_rows(from().group_by({"uid"}).aggregate({count("n")}), tweets(), {0, 1, 3});
  expect_rows(from().group_by({"uid"}).aggregate({count("n")}).offset(1).limit(1), tweets(), {1});
}

TEST(Groups, TheFilterComesBefore) {
  expect_rows(from().where("likes < 9").group_by({"uid"}).aggregate({count("n")}).rank_by({low("n")}), tweets(),
              {4, 0});
}

TEST(Groups, HaveSkylinesAndPartitions) {
  const Query query = from().group_by({"uid"}).aggregate({count("n"), min("quiet", "likes")});
  expect_rows(Query(query).prefer({high("n"), high("quiet")}), tweets(), {0, 3});
  expect_levels(Query(query).prefer({high("n"), high("quiet")}).levels(2), tweets(), {{0, 1}, {1, 2}, {3, 1}});
  expect_rows(Query(query).prefer(high("n")).partition_by({"uid"}), tweets(), {0, 1, 3});
}

TEST(Groups, TiesGoByTheFirstRow) {
  const Table table({ints("g", {5, 4, 5, 4}), ints("x", {1, 1, 1, 1})});
  const Query query = from().group_by({"g"}).aggregate({sum("s", "x")}).rank_by({high("s")}).limit(1);
  expect_rows(Query(query), table, {0});
  expect_rows(Query(query).ties(Ties::last), table, {1});
  expect_rows(Query(query).ties(Ties::all), table, {0, 1});
}

TEST(Groups, NullAggregatesAreWorst) {
  const Table table({ints("g", {1, 2}), ints("x", {std::nullopt, 7})});
  const Query query = from().group_by({"g"}).aggregate({max("m", "x")}).rank_by({high("m")});
  expect_rows(Query(query), table, {1, 0});
  expect_rows(Query(query).nulls(Missing::exclude), table, {1});
}

TEST(Groups, AnOverflowNamesTheFirstRow) {
  const Table table({ints("g", {1, 2, 2}), ints("x", {1, kMaxInt64, 1})});
  expect_error<DataError>(from().group_by({"g"}).aggregate({sum("s", "x")}), table, {"row 1"});
}

TEST(Groups, OfAnEmptyTable) {
  const Table table({ints("g", {}), ints("x", {})});
  const Query query = from().group_by({"g"}).aggregate({sum("s", "x")}).rank_by({high("s")});
  expect_rows(query, table, {});
  EXPECT_EQ(Engine().run(query, table).table.num_columns(), 3);
}

TEST(Groups, AreKeptByHaving) {
  const Query query = from().group_by({"uid"}).aggregate({count("n"), sum("s", "likes")});
  expect_rows(Query(query).having("n > 1"), tweets(), {0, 1});
  expect_rows(Query(query).having("n > 1 and s > 7 or uid = 'c'").rank_by({low("s")}), tweets(), {3, 1});
  expect_rows(Query(query).having("n > 1").rank_by({high("s")}).limit(1), tweets(), {1});
  expect_rows(Query(query).having("n > 1").prefer({low("n"), low("s")}).partition_by({"uid"}), tweets(), {0, 1});
  expect_rows(Query(query).having("n > 9"), tweets(), {});
}

TEST(Groups, WhoseHavingIsNullAreDropped) {
  const Table table({ints("g", {1, 2, 3}), ints("x", {std::nullopt, 7, 9})});
  const Query query = from().group_by({"g"}).aggregate({max("m", "x")});
  expect_rows(Query(query).having("m < 8"), table, {1});
  expect_rows(Query(query).having("m is null or m > 8"), table, {0, 2});
  expect_error<DataError>(Query(query).having("1 / (m - m) > 0"), table,
                          {"division of an integer by zero", "1 / (m - m) > 0"});
}

TEST(Groups, OfAllRowsAreOneAlsoWithoutRows) {
  const Query query = from().aggregate({count("n"), sum("s", "likes"), avg("a", "likes"), max("last", "uid")});
  expect_rows(query, tweets(), {0});
  expect_rows(Query(query).where("likes = 9"), tweets(), {3});
  expect_rows(Query(query).where("likes > 99"), tweets(), {-1});
  expect_rows(Query(query).where("likes > 99").having("n > 0"), tweets(), {});
  expect_rows(Query(query).where("likes > 99").rank_by({high("s")}).limit(3), tweets(), {-1});
  const Result none = Engine().run(Query(query).where("likes > 99"), tweets());
  EXPECT_EQ(none.table.column("n").value(0), Value(std::int64_t{0}));
  for (const char* name : {"s", "a", "last"}) EXPECT_TRUE(none.table.column(name).is_null(0)) << name;
  EXPECT_EQ(none.table.column("last").type(), DataType(Type::string));
}

TEST(Groups, HaveExtremesOfTexts) {
  const Table table({ints("g", {1, 2, 1, 1, 2}), Column::own("s", std::vector<std::string>{"b", "", "B", "ba", ""},
                                                             {true, false, true, true, false})});
  const Query query = from().group_by({"g"}).aggregate({min("low", "s"), max("high", "upper(s)")});
  expect_rows(Query(query).rank_by({low("low")}), table, {0, 1});
  const Result result = Engine().run(query, table);
  EXPECT_EQ(result.table.column("low").value(0), Value(std::string("B")));
  EXPECT_EQ(result.table.column("high").value(0), Value(std::string("BA")));
  EXPECT_TRUE(result.table.column("low").is_null(1));
}

}  // namespace
}  // namespace skyrank
