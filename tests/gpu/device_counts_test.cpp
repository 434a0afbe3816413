#include <skyrank/engine.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "tests/build.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/gpu/random_columns.hpp"

// Skybands and measures that the device counts, beside the same on the CPU.
namespace skyrank {
namespace {

using DeviceCounts = gpu_testing::GpuTest;
using gpu_testing::expect_same_values;
using gpu_testing::outcome_of;
using tests::kEmulated;

constexpr std::int64_t kRowsOfCounts = kEmulated ? 700 : 30'000;

/// Three columns of few values, so that there are equal rows, and one that divides them.
Table table_to_count(std::int64_t rows, std::uint64_t different) {
  std::mt19937_64 random(different);
  std::vector<Column> columns;
  for (const char* name : {"a", "b", "c"}) {
    std::vector<float> values;
    std::vector<bool> valid;
    for (std::int64_t i = 0; i < rows; ++i) {
      values.push_back(static_cast<float>(random() % different));
      valid.push_back(random() % 50 != 0);
    }
    columns.push_back(Column::own(name, std::move(values), valid));
  }
  std::vector<std::int64_t> parts;
  for (std::int64_t i = 0; i < rows; ++i) parts.push_back(i % 3);
  columns.push_back(Column::own("p", std::move(parts)));
  return Table(std::move(columns));
}

Query counted_front() { return Query::from("t").prefer(pareto({low("a"), high("b"), low("c")})); }

/// Runs a query on the CPU and on the GPU, with the table there and not there, and expects one answer. Returns what the
/// plan on the GPU says of its rule.
RuleOutcome expect_same_counts(const Query& query, const Table& table) {
  static const Engine cpu({.threads = 2, .device = DeviceChoice::cpu});
  static const Engine gpu({.threads = 2, .device = DeviceChoice::cuda});
  const Result expected = cpu.run(query, table);
  const Result sent = gpu.run(query, table);
  const Result pinned = gpu.run(query, gpu.pin(table));
  for (const Result* found : {&sent, &pinned}) {
    EXPECT_EQ(found->rows, expected.rows);
    EXPECT_EQ(found->levels, expected.levels);
    expect_same_values(found->table, expected.table);
  }
  return outcome_of("device-counts", pinned.plan);
}

TEST_F(DeviceCounts, AreThoseOfTheCpu) {
  for (const std::uint64_t different : {4, 1000}) {
    const Table table = table_to_count(kRowsOfCounts, different);
    for (const Query& query :
         {counted_front(), counted_front().levels(3), counted_front().at_least(40), counted_front().skyband(2),
          counted_front().skyband(9).where("a > 0"), counted_front().skyband(kAllRows).limit(50),
          counted_front().skyband(3).nulls(Missing::best), counted_front().levels(2).nulls(Missing::exclude)}) {
      Query asked = query;
      asked.select({"row", "dominates()", "dominated_by()", "level()", "crowding()"});
      EXPECT_TRUE(expect_same_counts(asked, table).applied);
    }
  }
}

TEST_F(DeviceCounts, RankTheRows) {
  const Table table = table_to_count(kRowsOfCounts, 60);
  for (const Query& query :
       {counted_front().rank_by({high("dominates()")}).limit(5),
        counted_front().levels(2).rank_by({low("dominated_by()"), high("a")}).limit(9),
        counted_front().skyband(kAllRows).rank_by({high("dominates()"), low("b")}).limit(7).ties(Ties::all)}) {
    EXPECT_TRUE(expect_same_counts(query, table).applied);
  }
}

TEST_F(DeviceCounts, AreLeftToTheHostWhereTheDeviceHasNoWords) {
  const Table table = table_to_count(kRowsOfCounts, 20);
  const Query asked = counted_front().select({"dominates()"});
  EXPECT_THAT(expect_same_counts(Query(asked).distinct(true), table).reason, ::testing::HasSubstr("equal rows"));
  EXPECT_THAT(expect_same_counts(Query(asked).partition_by({"p"}), table).reason, ::testing::HasSubstr("partitions"));
  const Query grouped = Query::from("t")
                            .group_by({"a", "b"})
                            .aggregate({Aggregate{"n", Aggregate::Function::count, std::nullopt}})
                            .prefer(pareto({low("a"), low("b")}))
                            .select({"dominates()"});
  EXPECT_THAT(expect_same_counts(grouped, table).reason, ::testing::HasSubstr("groups"));
}

TEST_F(DeviceCounts, OfOneAndOfNoRowAreNone) {
  for (const std::int64_t rows : {0, 1}) {
    const Table table = table_to_count(rows, 5);
    expect_same_counts(counted_front().skyband(2).select({"dominates()", "dominated_by()"}), table);
    expect_same_counts(counted_front().select({"dominates()", "dominated_by()"}), table);
  }
}

TEST_F(DeviceCounts, PlansSayWhereRowsAreCounted) {
  const Table table = table_to_count(kRowsOfCounts, 1000);
  const Engine gpu({.threads = 1, .device = DeviceChoice::cuda});
  const std::string plan = to_string(gpu.run(counted_front().skyband(3).select({"dominates()"}), table).plan);
  EXPECT_THAT(plan, ::testing::HasSubstr("counted by tiles of rows on cuda"));
}

}  // namespace
}  // namespace skyrank
