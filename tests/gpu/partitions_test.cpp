#include <skyrank/engine.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "kernels/cuda/device/array.hpp"
#include "tests/build.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/gpu/random_columns.hpp"

// Rankings of partitions that the device makes, beside the same on the CPU.
namespace skyrank {
namespace {

using DevicePartitions = gpu_testing::GpuTest;
using gpu_testing::Draw;
using gpu_testing::expect_same_values;
using gpu_testing::kColumns;
using gpu_testing::outcome_of;
using gpu_testing::random_keys;
using gpu_testing::random_rows;
using gpu_testing::random_table;
using tests::kEmulated;

constexpr std::int64_t kRows = kEmulated ? 500 : 20'000;
constexpr int kQueries = kEmulated ? 40 : 400;

Query random_query(Draw& draw) {
  Query query = random_rows(draw);
  query.partition_by(random_keys(draw));
  std::vector<RankTerm> ranking;
  for (std::int64_t i = 1 + draw.below(3); i > 0; --i) {
    const auto value = draw.one_of<std::string>({"i8", "i16", "i32", "i64", "u16", "u64", "f32", "f64", "i8 * 2 + 1"});
    ranking.push_back(draw.chance(50) ? low(value) : high(value));
  }
  query.rank_by(std::move(ranking)).limit(draw.one_of<std::int64_t>({0, 1, 2, 7, 40, kRows}));
  if (draw.chance(30)) query.offset(draw.below(4));
  if (draw.chance(20)) query.nulls(Missing::best);
  return query.ties(draw.one_of<Ties>({Ties::first, Ties::last, Ties::all}));
}

const Engine& cpu() {
  static const Engine engine({.threads = 2, .device = DeviceChoice::cpu});
  return engine;
}

/// Keeps columns and keys for later queries.
const Engine& gpu() {
  static const Engine engine(
      {.threads = 2, .device = DeviceChoice::cuda, .shared_key_bytes = std::size_t{1} << 24, .share_columns = true});
  return engine;
}

RuleOutcome outcome(const PlanNode& plan) { return outcome_of("device-partitions", plan); }

Result expect_same(const Query& query, const Table& table) {
  const Result here = cpu().run(query, table);
  Result there = gpu().run(query, table);
  EXPECT_EQ(there.rows, here.rows) << to_string(there.plan);
  expect_same_values(there.table, here.table);
  return there;
}

TEST_F(DevicePartitions, RandomQueriesGiveTheAnswersOfTheCpu) {
  int there = 0;
  Table table;
  for (int i = 0; i < kQueries && !HasFailure(); ++i) {
    SCOPED_TRACE("query " + std::to_string(i));
    Draw draw(static_cast<std::uint64_t>(i));
    if (i % 8 == 0) table = random_table(draw, draw.one_of<std::int64_t>({0, 1, 33, kRows / 10, kRows}));
    there += outcome(expect_same(random_query(draw), table).plan).applied ? 1 : 0;
  }
  EXPECT_GT(there, kQueries / 2);
}

TEST_F(DevicePartitions, ComeInTheOrderOfTheirFirstRows) {
  Draw draw(5);
  const Table table = random_table(draw, kRows);
  for (const std::string& column : kColumns) {
    SCOPED_TRACE(column);
    const Query query = Query::from("t").partition_by({column}).rank_by({high("u16")}).limit(3);
    const Result result = expect_same(query, table);
    EXPECT_TRUE(outcome(result.plan).applied);
    EXPECT_THAT(to_string(result.plan), testing::HasSubstr("sorted by value on the GPU"));
    ForcedPath without;
    without.without = {"device-partitions"};
    const Result other = expect_same(Query(query).using_path(without), table);
    EXPECT_EQ(outcome(other.plan).reason, "switched off");
    EXPECT_EQ(other.rows, result.rows);
  }
}

TEST_F(DevicePartitions, WhatTheHostHasToDoIsSaid) {
  Draw draw(6);
  const Table drawn = random_table(draw, 60);
  std::vector<Column> columns(drawn.columns().begin(), drawn.columns().end());
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) names.push_back("name " + std::to_string(i % 7));
  columns.push_back(Column::own("name", names));
  columns.push_back(Column::own_as("mass", DataType::decimal(38, 4), std::vector<Int128>(60, 3)));
  const Table table(std::move(columns));
  const auto why = [&](const Query& query) { return outcome(expect_same(query, table).plan).reason; };
  const auto by = [](std::vector<GroupKey> of) { return Query::from("t").partition_by(std::move(of)); };
  EXPECT_EQ(why(by({"name"}).rank_by({low("i32")}).limit(2)), "the GPU has no codes for the values of 'name'");
  EXPECT_EQ(why(by({"i8", "mass"}).rank_by({low("i32")}).limit(2)), "the GPU has no codes for the values of 'mass'");
  EXPECT_EQ(why(by({"i8"}).rank_by({low("i32")})), "all rows of a partition are the answer");
  EXPECT_EQ(why(by({"i8"}).prefer({low("i32"), low("u16")}).rank_by({low("i32")}).limit(2)),
            "each partition has a skyline");
  ForcedPath forced;
  forced.algorithms = {"cuda-sampled-threshold"};
  const Query asked = by({"i8"}).rank_by({low("i32")}).limit(2);
  const Result result = gpu().run(Query(asked).using_path(forced), table);
  EXPECT_EQ(outcome(result.plan).reason, "an algorithm was asked for");
  EXPECT_EQ(result.rows, cpu().run(asked, table).rows);
  EXPECT_EQ(why(by({"i8"}).group_by({"i8", "truth"}).aggregate({count("rows")}).rank_by({low("rows")}).limit(2)),
            "the rows are groups, which the host makes");
  EXPECT_EQ(why(by({"i8"}).limit(2).prefer({low("i32")})), "each partition has a skyline");
}

// Three columns that take 64 bits each do not fit one code.
TEST_F(DevicePartitions, CodesOfMoreThan64BitsAreLeftToTheHost) {
  Draw draw(7);
  std::vector<std::int64_t> wide(200);
  for (std::int64_t& value : wide) value = draw.one_of<std::int64_t>({INT64_MIN, -1, 0, INT64_MAX});
  const Table table({Column::own("a", wide), Column::own("b", draw.numbers<std::int64_t>(200, 3)),
                     Column::own("x", draw.numbers<float>(200, 50))});
  const Result one = expect_same(Query::from("t").partition_by({"a"}).rank_by({low("x")}).limit(2), table);
  EXPECT_TRUE(outcome(one.plan).applied);
  const Result two = expect_same(Query::from("t").partition_by({"a", "b"}).rank_by({low("x")}).limit(2), table);
  EXPECT_FALSE(outcome(two.plan).applied);
  EXPECT_EQ(outcome(two.plan).reason,
            "the codes of a row take more than 64 bits, or the rows are more than 32 bits can number");
}

TEST_F(DevicePartitions, ExpressionsAndMissingValues) {
  Draw draw(8);
  const Table table = random_table(draw, kRows);
  const auto ranked = [](std::vector<GroupKey> by) {
    return Query::from("t").partition_by(std::move(by)).rank_by({low("f32"), high("i16")}).limit(3);
  };
  expect_same(ranked({"i8 * 2"}), table);
  expect_same(ranked({"month(day)", "city"}), table);
  expect_same(ranked({{"month", "month(day)"}, "city"}), table);
  for (const Missing rule : {Missing::worst, Missing::best, Missing::exclude}) {
    expect_same(ranked({"i64", "town"}).nulls(rule), table);
    expect_same(ranked({"f32"}).nan(rule), table);
  }
}

TEST_F(DevicePartitions, AFailingRowIsNamedAsOnTheCpu) {
  std::vector<std::int64_t> zero(200, 1);
  std::vector<std::int32_t> part(200);
  for (std::size_t i = 0; i < part.size(); ++i) part[i] = static_cast<std::int32_t>(i % 3);
  zero[100] = zero[98] = 0;  // of the second and of the third partition
  const Table table({Column::own("a", zero), Column::own("p", part)});
  const Query query = Query::from("t").partition_by({"p"}).rank_by({low("10 / a")}).limit(3);
  const auto told = [&](const Engine& engine) -> std::string {
    try {
      engine.run(query, table);
      return "no error";
    } catch (const DataError& error) {
      return error.message();
    }
  };
  EXPECT_EQ(told(gpu()), told(cpu()));
  EXPECT_THAT(told(gpu()), testing::HasSubstr("98"));
}

// One partition, of which a launch alone answers, and one for each row.
TEST_F(DevicePartitions, FewAndMany) {
  std::vector<std::int32_t> one(static_cast<std::size_t>(kRows), 7);
  std::vector<std::int32_t> all(one.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(all.size() - i);
  Draw draw(9);
  const Table table({Column::own("one", one), Column::own("all", all), Column::own("x", draw.numbers<float>(kRows, 90)),
                     Column::own("y", draw.numbers<double>(kRows, 9))});
  for (const char* column : {"one", "all"}) {
    for (const std::int64_t limit : {std::int64_t{1}, std::int64_t{30}, std::int64_t{2000}}) {
      for (const Ties ties : {Ties::first, Ties::last, Ties::all}) {
        const Query query = Query::from("t").partition_by({column}).rank_by({low("x")}).limit(limit).ties(ties);
        EXPECT_TRUE(outcome(expect_same(query, table).plan).applied);
        expect_same(Query(query).rank_by({high("y"), low("x")}).offset(1), table);
      }
    }
  }
}

// Enough rows of few partitions for a bound of each: the other rows are not sorted.
TEST_F(DevicePartitions, RowsThatCannotBeAmongTheBestAreLeftOut) {
  constexpr std::int64_t kMany = kEmulated ? 4'000 : 1'200'000;
  Draw draw(12);
  const Table table({Column::own("p", draw.bits(kMany, 50), draw.bits(kMany, 90)),
                     Column::own("x", draw.numbers<float>(kMany, 1'000'000), draw.bits(kMany, 90)),
                     Column::own("y", draw.numbers<std::int64_t>(kMany, 2'000)),
                     Column::own("z", draw.numbers<std::uint8_t>(kMany, 200))});
  const auto expect_few = [&](const RankTerm& term, Ties ties) {
    const Query query = Query::from("t").partition_by({"p"}).rank_by({term}).limit(4).offset(1).ties(ties);
    EXPECT_THAT(to_string(expect_same(query, table).plan), testing::HasSubstr("rows that can be among the best"));
  };
  expect_few(low("x"), Ties::first);
  expect_few(high("y"), Ties::last);
  expect_few(low("z"), Ties::all);
  const Query filtered = Query::from("t").where("y > 100").partition_by({"p"}).rank_by({high("x")}).limit(3);
  expect_same(Query(filtered).nulls(Missing::best), table);
}

/// Values next to each other from `lowest` on.
template <class T>
std::vector<T> close_values(Draw& draw, std::int64_t n, T lowest, std::int64_t different) {
  std::vector<T> values(static_cast<std::size_t>(n));
  for (T& value : values) {
    value = static_cast<T>(static_cast<std::uint64_t>(lowest) + static_cast<std::uint64_t>(draw.below(different)));
  }
  return values;
}

// Columns without NULLs are read as they lie, and keys are made of the rows alone that are left.
TEST_F(DevicePartitions, ColumnsOfEveryTypeAreReadAsTheyLie) {
  constexpr std::int64_t kMany = kEmulated ? 6'001 : 1'200'001;
  Draw draw(13);
  const Table table({Column::own("p8", close_values<std::int8_t>(draw, kMany, -2, 4)),
                     Column::own("p16", close_values<std::uint16_t>(draw, kMany, 65'533, 3)),
                     Column::own("p32", close_values<std::int32_t>(draw, kMany, -1, 3)),
                     Column::own("p64", close_values<std::int64_t>(draw, kMany, INT64_MIN, 3)),
                     Column::own("q64", close_values<std::uint64_t>(draw, kMany, UINT64_MAX - 2, 3)),
                     Column::own_as("day", Type::date, close_values<std::int32_t>(draw, kMany, 19'000, 3)),
                     Column::own("f32", draw.numbers<float>(kMany, 1'000'000)),
                     Column::own("f64", draw.numbers<double>(kMany, 1'000'000)),
                     Column::own("i64", draw.numbers<std::int64_t>(kMany, 1'000'000)),
                     Column::own("i32", draw.numbers<std::int32_t>(kMany, 900)),
                     Column::own("i16", draw.numbers<std::int16_t>(kMany, 20'000)),
                     Column::own("u16", draw.numbers<std::uint16_t>(kMany, 60'000)),
                     Column::own("i8", draw.numbers<std::int8_t>(kMany, 120)),
                     Column::own("u64", draw.numbers<std::uint64_t>(kMany, 1'000'000))});
  const auto expect_few = [&](const char* by, std::vector<RankTerm> ranking, Ties ties) {
    SCOPED_TRACE(by);
    const Query query = Query::from("t").partition_by({by}).rank_by(std::move(ranking)).limit(5).offset(1).ties(ties);
    const Result result = expect_same(query, table);
    EXPECT_THAT(to_string(result.plan), testing::HasSubstr("rows that can be among the best"));
  };
  for (const char* by : {"p8", "p16", "p32", "p64", "q64", "day"}) expect_few(by, {high("f32")}, Ties::first);
  for (const char* value : {"f32", "f64", "i64", "i32", "i16", "u16", "u64"}) {
    SCOPED_TRACE(value);
    expect_few("p8", {low(value)}, Ties::last);
    expect_few("p32", {high(value)}, Ties::all);
    expect_few("p64", {high(value), low("i8"), high("f64")}, Ties::first);
  }
  expect_same(Query::from("t").partition_by({"p8"}).rank_by({high("i8")}).limit(3), table);
  expect_same(Query::from("t").partition_by({"p8"}).rank_by({low("f32")}).limit(3).nan(Missing::exclude), table);
  expect_same(Query::from("t").partition_by({"p8", "p32"}).rank_by({low("f32")}).limit(3), table);
  expect_same(Query::from("t").where("p8 <> 0").partition_by({"p8"}).rank_by({low("f64")}).limit(3), table);
}

TEST_F(DevicePartitions, AutoPricesThem) {
  const Engine engine({.threads = 2, .device = DeviceChoice::automatic});
  const auto made = [](std::int64_t n) {
    std::vector<std::uint8_t> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i * 7 % 251);
    return Table({Column::own("p", values), Column::own("x", values)});
  };
  const Query query = Query::from("t").partition_by({"p"}).rank_by({low("x")}).limit(20);
  const auto plan_of = [&](std::int64_t n) { return engine.explain(query, engine.pin(made(n))); };
  EXPECT_TRUE(outcome(plan_of(std::int64_t{1} << 23)).applied);
  EXPECT_FALSE(outcome(plan_of(std::int64_t{1} << 12)).applied);
  // Without a pin the way there is part of the price.
  EXPECT_TRUE(outcome(engine.explain(query, made(std::int64_t{1} << 23))).applied);
  EXPECT_FALSE(outcome(engine.explain(query, made(std::int64_t{1} << 12))).applied);
}

/// Sorting takes more memory than segments of the host's making: there are limits that only the latter keep.
TEST_F(DevicePartitions, WithoutMemoryForThemTheHostMakesThem) {
  constexpr std::int64_t kMany = 20'000;
  std::vector<std::uint8_t> values(static_cast<std::size_t>(kMany));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i * 7 % 5);
  const Table table({Column::own("p", values), Column::own("x", values)});
  const Query query = Query::from("t").partition_by({"p"}).rank_by({low("x")}).limit(2);
  const std::vector<RowId> expected = cpu().run(query, table).rows;
  kernels::cuda::peak_temporary_bytes();
  const std::size_t before = kernels::cuda::peak_temporary_bytes();  // held by other tests
  int refused = 0;
  int by_host = 0;
  int there = 0;
  for (std::size_t bytes = kMany; bytes <= kMany * 40; bytes += kMany) {
    const Engine engine(
        {.threads = 2, .device = DeviceChoice::cuda, .without = {"device-parts"}, .gpu_memory_bytes = before + bytes});
    try {
      const Result result = engine.run(query, table);
      EXPECT_EQ(result.rows, expected);
      const RuleOutcome rule = outcome(result.plan);
      if (rule.applied) {
        ++there;
        continue;
      }
      EXPECT_EQ(rule.reason, "the GPU has too little memory left to sort the rows");
      ++by_host;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("bytes of device memory is reached"));
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(by_host, 0);
  EXPECT_GT(there, 0);
}

}  // namespace
}  // namespace skyrank
