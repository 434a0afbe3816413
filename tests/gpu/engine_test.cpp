#include <skyrank/engine.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/algorithms.hpp"

// Queries that are to run on the device, beside the same on the CPU.
namespace skyrank {
namespace {

using EngineOnGpu = gpu_testing::GpuTest;

Table some_table() {
  constexpr std::size_t kRows = kernels::tests::kEmulated ? 5000 : 50000;
  std::mt19937_64 random(7);
  std::vector<double> price(kRows);
  std::vector<std::int32_t> stars(kRows);
  std::vector<std::int64_t> seen(kRows);
  std::vector<float> weight(kRows);
  for (std::size_t row = 0; row < kRows; ++row) {
    price[row] = row % 97 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(random() % 5000) / 8;
    stars[row] = static_cast<std::int32_t>(random() % 5);
    seen[row] = static_cast<std::int64_t>(random());
    weight[row] = static_cast<float>(random() % 1000);
  }
  return Table({Column::own("price", std::move(price)), Column::own("stars", std::move(stars)),
                Column::own("seen", std::move(seen)), Column::own("weight", std::move(weight))});
}

Engine engine_on(DeviceChoice device) { return Engine({.threads = 2, .device = device}); }

void expect_same(const Query& query, const Table& table) {
  const Result there = engine_on(DeviceChoice::cuda).run(query, table);
  EXPECT_EQ(there.rows, engine_on(DeviceChoice::cpu).run(query, table).rows);
  EXPECT_THAT(to_string(there.plan), testing::HasSubstr("cuda"));
  EXPECT_GT(there.timing.transfer_ms, 0);
}

TEST_F(EngineOnGpu, RankingsGiveTheRowsOfTheCpu) {
  const Table table = some_table();
  const auto from = [] { return Query::from("t"); };
  for (const Ties ties : {Ties::first, Ties::last, Ties::all}) {
    expect_same(from().rank_by({low("price")}).limit(100).ties(ties), table);
    expect_same(from().where("stars >= 3 and price < 300").rank_by({high("seen")}).limit(20).ties(ties), table);
    expect_same(from().rank_by({high("stars"), low("weight")}).limit(1000).ties(ties), table);
    expect_same(from().partition_by({"stars"}).rank_by({high("price")}).limit(3).ties(ties), table);
  }
  expect_same(from().rank_by({low("price")}).offset(static_cast<std::int64_t>(table.num_rows()) - 1000), table);
}

// Of 72 bits together, and of many more.
TEST_F(EngineOnGpu, RankingsOfLongKeysGiveTheRowsOfTheCpu) {
  const Table table = some_table();
  for (const Ties ties : {Ties::first, Ties::last, Ties::all}) {
    expect_same(Query::from("t").rank_by({high("stars"), low("price * 2")}).limit(300).ties(ties), table);
    expect_same(
        Query::from("t").rank_by({high("stars"), low("stars * 2"), low("weight"), high("seen")}).limit(300).ties(ties),
        table);
  }
}

TEST_F(EngineOnGpu, WhatTheDeviceCannotDoIsSaid) {
  const Query skyline = Query::from("t").prefer({low("price"), high("stars")});
  try {
    engine_on(DeviceChoice::cuda).run(skyline, some_table());
    FAIL() << "no error";
  } catch (const BindError& error) {
    EXPECT_THAT(error.message(), testing::HasSubstr("no skyline algorithm fits"));
  }
}

}  // namespace
}  // namespace skyrank
