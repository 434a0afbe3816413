#include <skyrank/engine.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "kernels/cuda/device/array.hpp"
#include "tests/build.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/gpu/random_columns.hpp"

// Groups that the device makes, beside the same on the CPU.
namespace skyrank {
namespace {

using DeviceGroups = gpu_testing::GpuTest;
using gpu_testing::Draw;
using gpu_testing::expect_same_values;
using gpu_testing::kColumns;
using gpu_testing::outcome_of;
using gpu_testing::random_keys;
using gpu_testing::random_rows;
using gpu_testing::random_table;
using tests::kEmulated;

constexpr std::int64_t kRows = kEmulated ? 600 : 20'000;
constexpr int kQueries = kEmulated ? 60 : 600;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

const Engine& cpu() {
  static const Engine engine({.threads = 2, .device = DeviceChoice::cpu});
  return engine;
}

/// Keeps columns for later queries.
const Engine& gpu() {
  static const Engine engine({.threads = 2, .device = DeviceChoice::cuda, .share_columns = true});
  return engine;
}

RuleOutcome outcome(const PlanNode& plan) { return outcome_of("device-groups", plan); }

/// The answer of an engine, or what it says.
std::string told(const Engine& engine, const Query& query, const Table& table, Result& result) {
  try {
    result = engine.run(query, table);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// Both give the same values in the same order, or the same error.
Result expect_same(const Query& query, const Table& table) {
  Result here;
  Result there;
  EXPECT_EQ(told(gpu(), query, table, there), told(cpu(), query, table, here));
  EXPECT_EQ(there.rows, here.rows);
  expect_same_values(there.table, here.table);
  return there;
}

Aggregate random_aggregate(Draw& draw, const std::string& name) {
  switch (draw.below(6)) {
    case 0: return count(name);
    case 1: return Aggregate{name, Aggregate::Function::count, Expression(draw.one_of(kColumns))};
    case 2: return sum(name, draw.one_of<std::string>({"i8", "i16", "i32", "i64", "u16", "u64"}));
    case 3: return avg(name, draw.one_of<std::string>({"i8", "i16", "i32", "i64", "u16", "u64"}));
    case 4: return skyrank::min(name, draw.one_of<std::string>({"i8", "i16", "i64", "u64", "day", "time", "price"}));
    default:
      return skyrank::max(name, draw.one_of<std::string>({"i8", "i32", "i64", "u16", "u64", "day", "time", "price"}));
  }
}

Query random_query(Draw& draw) {
  Query query = random_rows(draw);
  query.group_by(random_keys(draw));
  std::vector<Aggregate> aggregates{count("n")};
  for (std::int64_t i = draw.below(4); i > 0; --i) {
    aggregates.push_back(random_aggregate(draw, "a" + std::to_string(i)));
  }
  query.aggregate(std::move(aggregates)).rank_by({draw.chance(50) ? high("n") : low("n")});
  if (draw.chance(80)) query.limit(draw.one_of<std::int64_t>({0, 1, 5, 50, kRows}));
  if (draw.chance(20)) query.offset(draw.below(4));
  return query.ties(draw.one_of<Ties>({Ties::first, Ties::last, Ties::all}));
}

TEST_F(DeviceGroups, RandomQueriesGiveTheAnswersOfTheCpu) {
  int there = 0;
  Table table;
  for (int i = 0; i < kQueries && !HasFailure(); ++i) {
    SCOPED_TRACE("query " + std::to_string(i));
    Draw draw(static_cast<std::uint64_t>(i));
    if (i % 8 == 0) table = random_table(draw, draw.one_of<std::int64_t>({0, 1, 33, kRows / 10, kRows}));
    const Query query = random_query(draw);
    there += outcome(expect_same(query, table).plan).applied ? 1 : 0;
    if (i % 10 == 0) expect_same(query, gpu().pin(table));
  }
  EXPECT_GT(there, kQueries / 2);
}

TEST_F(DeviceGroups, ComeInTheOrderOfTheirFirstRowsWithTheValuesOfThese) {
  const Table table({Column::own<double>("g", {0.5, -0.0, 0.0, 0.5}), Column::own<std::int8_t>("x", {1, 2, 3, 4})});
  const Query query = Query::from("t").group_by({"g"}).aggregate({count("n"), sum("s", "x")});
  const Result result = expect_same(query, table);
  EXPECT_TRUE(outcome(result.plan).applied);
  EXPECT_THAT(to_string(result.plan), testing::HasSubstr("sorted by value on the GPU"));
  EXPECT_EQ(result.rows, (std::vector<RowId>{0, 1}));
  EXPECT_EQ(to_string(result.table.column("g").value(1)), "-0");
  ForcedPath without;
  without.without = {"device-groups"};
  const Result other = expect_same(Query(query).using_path(without), table);
  EXPECT_EQ(outcome(other.plan).reason, "switched off");
}

TEST_F(DeviceGroups, SumsAreExactAndOverflowsNameTheGroup) {
  const auto table_of = [](std::vector<std::int64_t> x, std::vector<std::uint64_t> u) {
    return Table({Column::own<std::int32_t>("g", {7, 1, 7, 1, 7}), Column::own("x", std::move(x)),
                  Column::own("u", std::move(u))});
  };
  const auto query = [](const char* column) {
    return Query::from("t").group_by({"g"}).aggregate({sum("s", column), avg("a", column)});
  };
  // Beyond 64 bits on the way, and back.
  expect_same(query("x"), table_of({kMax, 1, kMax, 2, -kMax}, {1, 1, 1, 1, 1}));
  expect_same(query("x"), table_of({-kMax - 1, 1, -1, 2, 1}, {1, 1, 1, 1, 1}));
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (const char* column : {"x", "u"}) {
    const Table table = table_of({1, kMax, 1, 1, 1}, {1, most, 1, 1, 1});
    Result none;
    EXPECT_THAT(told(gpu(), query(column), table, none), testing::HasSubstr("in the group of row 1"));
    expect_same(query(column), table);
  }
  expect_same(query("u"), table_of({1, 1, 1, 1, 1}, {most - 2, 5, 1, most - 5, 1}));
  // The averages of sums that 64 bits do not hold.
  expect_same(Query::from("t").group_by({"g"}).aggregate({avg("x", "x"), avg("u", "u")}),
              table_of({kMax, kMax, kMax, kMax, kMax}, {most, most, most, most, most}));
}

// Lanes of a warp in one group and in many, groups that span stretches of warps and blocks, groups of one row.
TEST_F(DeviceGroups, OfEverySize) {
  constexpr std::int64_t kMany = kEmulated ? 9'000 : 3'000'000;
  Draw draw(3);
  for (const std::int64_t different : {1, 2, 31, 700, 1'000'000}) {
    std::vector<std::int32_t> g(static_cast<std::size_t>(kMany));
    for (std::size_t i = 0; i < g.size(); ++i) {
      // Half of the rows in one group.
      g[i] = draw.chance(50) ? 0 : static_cast<std::int32_t>(draw.below(different));
    }
    const Table table({Column::own("g", g), Column::own("x", draw.numbers<std::int64_t>(kMany, 1'000'000)),
                       Column::own("y", draw.numbers<std::uint16_t>(kMany, 9), draw.bits(kMany, 60))});
    const Query query = Query::from("t").group_by({"g"}).aggregate(
        {count("n"), Aggregate{"c", Aggregate::Function::count, Expression("y")}, sum("s", "y"), avg("a", "y"),
         min("l", "x"), max("h", "x"), min("ly", "y"), max("hy", "y")});
    EXPECT_TRUE(outcome(expect_same(query, table).plan).applied);
  }
}

TEST_F(DeviceGroups, WhatTheHostHasToDoIsSaid) {
  Draw draw(6);
  const Table drawn = random_table(draw, 60);
  std::vector<Column> columns(drawn.columns().begin(), drawn.columns().end());
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) names.push_back("name " + std::to_string(i % 7));
  columns.push_back(Column::own("name", names));
  const Table table(std::move(columns));
  const auto why = [&](std::vector<GroupKey> by, const Aggregate& aggregate) {
    const Query query = Query::from("t").group_by(std::move(by)).aggregate({aggregate}).rank_by({high("a")}).limit(9);
    return outcome(expect_same(query, table).plan).reason;
  };
  const std::string other = "the GPU does not aggregate 'a': it counts, and adds up and compares columns of integers";
  EXPECT_EQ(why({"name"}, count("a")), "the GPU has no codes for the values of 'name'");
  EXPECT_EQ(why({"i8"}, sum("a", "f64")), other);
  EXPECT_EQ(why({"i8"}, sum("a", "i8 + 1")), other);
  EXPECT_EQ(why({"i8"}, max("a", "f32")), other);
  EXPECT_EQ(why({"i8"}, sum("a", "price")), other);
  EXPECT_EQ(why({"i8"}, avg("a", "price")), other);
}

TEST_F(DeviceGroups, SkylinesPartitionsAndExpressionsOfGroups) {
  Draw draw(8);
  const Table table = random_table(draw, kRows);
  const auto groups = [](std::vector<GroupKey> by) {
    return Query::from("t").group_by(std::move(by)).aggregate({count("n"), max("m", "i16"), sum("s", "u16")});
  };
  EXPECT_TRUE(outcome(expect_same(groups({"city", "i8"}).prefer({high("n"), low("m")}), table).plan).applied);
  expect_same(groups({"town", "u16"}).partition_by({"town"}).rank_by({high("s"), low("m")}).limit(2), table);
  expect_same(groups({"month(day)"}).rank_by({high("n")}), table);
  expect_same(groups({"i8", {"month", "month(day)"}}).rank_by({high("month"), low("n")}).limit(9), table);
  expect_same(groups({"i64"}).rank_by({low("m")}).nulls(Missing::exclude), table);
}

TEST_F(DeviceGroups, AutoPricesThem) {
  const Engine engine({.threads = 2, .device = DeviceChoice::automatic});
  const auto made = [](std::int64_t n, std::size_t groups = 251) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i * 7 % groups);
    return Table({Column::own("g", values)});
  };
  const Query query = Query::from("t").group_by({"g"}).aggregate({count("n")}).rank_by({high("n")}).limit(20);
  const auto plan_of = [&](std::int64_t n) { return engine.explain(query, engine.pin(made(n))); };
  EXPECT_TRUE(outcome(plan_of(std::int64_t{1} << 22)).applied);
  EXPECT_FALSE(outcome(plan_of(std::int64_t{1} << 12)).applied);
  // Without a pin the way there is part of the price.
  EXPECT_TRUE(outcome(engine.explain(query, made(std::int64_t{1} << 22))).applied);
  EXPECT_FALSE(outcome(engine.explain(query, made(std::int64_t{1} << 12))).applied);
  // A table of as many groups as rows takes the host as long as the groups themselves, unless few of them come home.
  const Engine many({.threads = 16, .device = DeviceChoice::automatic});
  constexpr std::int64_t kRowsOfMany = std::int64_t{1} << 22;
  const Table pinned = many.pin(made(kRowsOfMany, kRowsOfMany));
  EXPECT_TRUE(outcome(many.explain(query, pinned)).applied);
  EXPECT_FALSE(outcome(many.explain(Query(query).rank_by({high("g")}), pinned)).applied);
}

// Groups that lose by the first term stay on the device, whatever the terms after it say.
TEST_F(DeviceGroups, OnlyTheBestComeHome) {
  constexpr std::int64_t kMany = kEmulated ? 3'000 : 300'000;
  Draw draw(31);
  const Table table({Column::own("g", draw.numbers<std::int32_t>(kMany, kMany / 8)),
                     Column::own("v", draw.numbers<std::int32_t>(kMany, 1'000), draw.bits(kMany, 60)),
                     Column::own("u", draw.numbers<std::uint32_t>(kMany, 9)),
                     Column::own_as("day", Type::date, draw.numbers<std::int32_t>(kMany, 70), draw.bits(kMany, 50))});
  const Query all = Query::from("t").group_by({"g"}).aggregate({count("n"), count("values", "v"), sum("s", "v"),
                                                                sum("us", "u"), min("least", "v"), max("most", "u"),
                                                                min("first", "day"), avg("mean", "v")});
  const auto expect_few = [&](const Query& query, bool few) {
    const Result result = expect_same(query, table);
    EXPECT_TRUE(outcome(result.plan).applied);
    EXPECT_EQ(to_string(result.plan).find("groups that can be among the best") != std::string::npos, few)
        << to_string(result.plan);
  };
  for (const char* value : {"n", "values", "s", "us", "least", "most", "first"}) {
    SCOPED_TRACE(value);
    for (const Ties ties : {Ties::first, Ties::last, Ties::all}) {
      const Query best = Query(all).limit(4).ties(ties);
      expect_same(Query(best).rank_by({high(value), low("g")}), table);
      expect_same(Query(best).rank_by({low(value)}).offset(2), table);
      expect_same(Query(best).rank_by({low(value), high("mean")}).nulls(Missing::best), table);
      expect_same(Query(best).rank_by({high(value)}).nulls(Missing::exclude), table);
      expect_same(Query(best).where("u > 3").rank_by({high(value), high("n")}), table);
    }
  }
  expect_few(Query(all).rank_by({high("s"), low("g")}).limit(3), true);
  expect_few(Query(all).rank_by({high("s")}).limit(3).offset(4), true);
  expect_few(Query(all).rank_by({high("s")}).limit(kMany), false);
  // An algorithm that the query names ranks all groups.
  ForcedPath named;
  named.algorithms = {"cuda-sampled-threshold"};
  const Query three = Query(all).rank_by({high("s"), low("g")}).limit(3);
  const Result ranked = gpu().run(Query(three).using_path(named), table);
  EXPECT_EQ(ranked.rows, expect_same(three, table).rows);
  EXPECT_THAT(to_string(ranked.plan), testing::Not(testing::HasSubstr("groups that can be among the best")));
  expect_few(Query(all).rank_by({high("s")}), false);
  expect_few(Query(all).rank_by({high("mean")}).limit(3), false);
  expect_few(Query(all).rank_by({high("g")}).limit(3), false);
  expect_few(Query(all).rank_by({high("s + 1")}).limit(3), false);
  expect_few(Query(all).rank_by({high("s")}).limit(3).nulls(Missing::exclude), false);
  expect_few(Query(all).prefer({high("s"), low("n")}).rank_by({high("s")}).limit(3), false);
}

// A sum that its type does not hold is an error, even of a group that would not be among the best.
TEST_F(DeviceGroups, OverflowsOfGroupsThatLoseAreErrors) {
  const Table table({Column::own("g", std::vector<std::int32_t>{1, 1, 2, 2, 2, 3}),
                     Column::own("v", std::vector<std::int64_t>{INT64_MIN, -1, 5, 6, 7, 1})});
  const Query query = Query::from("t").group_by({"g"}).aggregate({count("n"), sum("s", "v")}).limit(1);
  const auto told = [&](const Engine& engine, const Query& asked) -> std::string {
    try {
      engine.run(asked, table);
      return "no error";
    } catch (const DataError& error) {
      return error.message();
    }
  };
  for (const char* value : {"n", "s"}) {
    const Query asked = Query(query).rank_by({high(value)});
    EXPECT_EQ(told(gpu(), asked), told(cpu(), asked));
    EXPECT_NE(told(gpu(), asked), "no error");
  }
}

TEST_F(DeviceGroups, WithoutMemoryForThemTheHostMakesThem) {
  constexpr std::int64_t kMany = 20'000;
  std::vector<std::uint8_t> values(static_cast<std::size_t>(kMany));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i * 7 % 5);
  const Table table({Column::own("g", values), Column::own("x", values)});
  const Query query = Query::from("t").group_by({"g"}).aggregate({count("n"), sum("s", "x")});
  const std::vector<RowId> expected = cpu().run(query, table).rows;
  kernels::cuda::peak_temporary_bytes();
  const std::size_t before = kernels::cuda::peak_temporary_bytes();  // held by other tests
  int by_host = 0;
  int there = 0;
  for (std::size_t bytes = kMany; bytes <= kMany * 40; bytes += kMany * 2) {
    const Engine engine(
        {.threads = 2, .device = DeviceChoice::cuda, .without = {"device-parts"}, .gpu_memory_bytes = before + bytes});
    const Result result = engine.run(query, table);
    EXPECT_EQ(result.rows, expected);
    const RuleOutcome rule = outcome(result.plan);
    if (rule.applied) {
      ++there;
      continue;
    }
    EXPECT_EQ(rule.reason, "the GPU has too little memory left to sort the rows");
    ++by_host;
  }
  EXPECT_GT(by_host, 0);
  EXPECT_GT(there, 0);
}

}  // namespace
}  // namespace skyrank
