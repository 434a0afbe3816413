#include <skyrank/engine.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/error.hpp>

#include "tests/build.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/kernels/algorithms.hpp"

#ifdef SKYRANK_EMULATED
#include "emulator/testing.hpp"
#endif

// Skylines whose rows stay on the device for their ranking and their levels, beside the same on the CPU.
namespace skyrank {
namespace {

using DeviceRows = gpu_testing::GpuTest;
using tests::kEmulated;

constexpr std::int64_t kRows = kEmulated ? 400 : 3'000;
constexpr int kQueries = kEmulated ? 4 : 200;

/// Draws for tables and queries.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& one_of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(below(static_cast<std::int64_t>(values.size())))];
  }

  std::vector<bool> valid(std::int64_t n) {
    std::vector<bool> bits(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = !chance(10);
    return bits;
  }

  /// Few different values, some far from the others.
  template <class T>
  std::vector<T> numbers(std::int64_t n, std::int64_t different) {
    std::vector<T> values(static_cast<std::size_t>(n));
    for (T& value : values) {
      value = static_cast<T>(below(different));
      if (!chance(1)) continue;
      value = chance(50) ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
      if (std::numeric_limits<T>::has_quiet_NaN && chance(50)) value = std::numeric_limits<T>::quiet_NaN();
    }
    return values;
  }

  std::vector<Float16> halves(std::int64_t n) {
    std::vector<Float16> values(static_cast<std::size_t>(n));
    for (Float16& value : values) value.bits = static_cast<std::uint16_t>(random_());
    return values;
  }

 private:
  std::mt19937_64 random_;
};

/// Columns of all types, with NULLs, NaN and ties.
Table random_table(Draw& draw, std::int64_t n) {
  std::vector<bool> truths(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < truths.size(); ++i) truths[i] = draw.chance(30);
  return Table({Column::own("i8", draw.numbers<std::int8_t>(n, 100)),
                Column::own("i16", draw.numbers<std::int16_t>(n, 3'000), draw.valid(n)),
                Column::own("i32", draw.numbers<std::int32_t>(n, 1'000'000)),
                Column::own("i64", draw.numbers<std::int64_t>(n, std::int64_t{1} << 40), draw.valid(n)),
                Column::own("u8", draw.numbers<std::uint8_t>(n, 12)),
                Column::own("u16", draw.numbers<std::uint16_t>(n, 500)),
                Column::own("u32", draw.numbers<std::uint32_t>(n, 9'000), draw.valid(n)),
                Column::own("u64", draw.numbers<std::uint64_t>(n, 1'000)), Column::own("f16", draw.halves(n)),
                Column::own("f32", draw.numbers<float>(n, 800), draw.valid(n)),
                Column::own("f64", draw.numbers<double>(n, 100'000)), Column::own("truth", truths),
                Column::own_as("day", Type::date, draw.numbers<std::int32_t>(n, 700)),
                Column::own_as("time", Type::timestamp, draw.numbers<std::int64_t>(n, 10'000), draw.valid(n))});
}

const std::vector<std::string> kValues = {"i8",  "i16", "i32", "i64", "u8",  "u16",
                                          "u32", "u64", "f16", "f32", "f64", "u16 * 2 + i8"};

Preference random_term(Draw& draw) {
  const std::string value = draw.one_of(kValues);
  switch (draw.below(7)) {
    case 0: return around(value, Value(std::int64_t{40}));
    case 1: return between(value, Value(std::int64_t{10}), Value(std::int64_t{60}));
    case 2: return in("u8", {{Value(std::int64_t{3}), Value(std::int64_t{5})}, {Value(std::int64_t{0})}});
    case 3: return where("truth and f64 > 5");
    case 4: return low(draw.chance(50) ? "day" : "time");
    case 5: return low(value);
    default: return high(value);
  }
}

/// A preference with a ranking or levels or both, and whatever else goes with them.
Query random_query(Draw& draw) {
  Query query = Query::from("t");
  if (draw.chance(40)) {
    query.where(draw.one_of<std::string>(
        {"f64 > 50", "truth", "u8 in (1, 2, 3)", "i32 < 0", "f32 is not null", "i8 > 0 or u16 < 40"}));
  }
  if (draw.chance(30)) query.partition_by({draw.one_of<std::string>({"u8", "truth", "u16"})});
  std::vector<Preference> terms;
  for (std::int64_t i = 1 + draw.below(4); i > 0; --i) terms.push_back(random_term(draw));
  query.prefer(std::move(terms));
  if (draw.chance(35))
    query.levels(1 + draw.below(5));
  else if (draw.chance(20))
    query.at_least(draw.below(100));
  if (draw.chance(85)) {
    std::vector<RankTerm> ranking;
    for (std::int64_t i = 1 + draw.below(3); i > 0; --i) {
      const std::string value = draw.one_of(kValues);
      ranking.push_back(draw.chance(50) ? low(value) : high(value));
    }
    query.rank_by(std::move(ranking));
  }
  if (draw.chance(30)) query.offset(draw.below(4));
  return query.ties(draw.one_of<Ties>({Ties::first, Ties::last, Ties::all}));
}

void expect_same_values(const Table& there, const Table& here) {
  ASSERT_EQ(there.num_columns(), here.num_columns());
  ASSERT_EQ(there.num_rows(), here.num_rows());
  for (int c = 0; c < here.num_columns(); ++c) {
    for (std::int64_t row = 0; row < here.num_rows(); ++row) {
      ASSERT_EQ(to_string(there.column(c).value(row)), to_string(here.column(c).value(row)))
          << here.column(c).name() << ", row " << row << " of the answer";
    }
  }
}

const Engine& cpu() {
  static const Engine engine({.threads = 2, .device = DeviceChoice::cpu});
  return engine;
}

const Engine& gpu() {
  static const Engine engine({.threads = 2, .device = DeviceChoice::cuda});
  return engine;
}

bool applies(const Result& result, const std::string& rule) {
  for (const RuleOutcome& outcome : result.plan.rules) {
    if (outcome.rule == rule) return outcome.applied;
  }
  return false;
}

Result expect_same(const Query& query, const Table& table, const Table& pinned) {
  const Result here = cpu().run(query, table);
  Result there = gpu().run(query, pinned);
  EXPECT_EQ(there.rows, here.rows) << to_string(there.plan);
  EXPECT_EQ(there.levels, here.levels) << to_string(there.plan);
  expect_same_values(there.table, here.table);
  return there;
}

TEST_F(DeviceRows, RandomQueriesGiveTheAnswersOfTheCpu) {
  int stayed = 0;
  Table table;
  Table pinned;
  for (int i = 0; i < kQueries && !HasFailure(); ++i) {
    SCOPED_TRACE("query " + std::to_string(i));
    Draw draw(static_cast<std::uint64_t>(i));
    if (i % 10 == 0) {
      table = random_table(draw, draw.one_of<std::int64_t>({1, 2, 33, kRows / 10, kRows}));
      pinned = gpu().pin(table);
    }
    Query query = random_query(draw);
    const auto n = static_cast<std::int64_t>(cpu().run(query, table).rows.size());
    for (const std::int64_t limit : {std::int64_t{0}, std::int64_t{1}, std::int64_t{7}, n, n + 1}) {
      stayed += applies(expect_same(query.limit(limit), table, pinned), "device-rows") ? 1 : 0;
    }
    query.limit(std::nullopt);
    expect_same(query, table, pinned);
  }
  EXPECT_GT(stayed, kQueries);
}

TEST_F(DeviceRows, NothingGivesNothing) {
  Draw draw(1);
  const Table empty = random_table(draw, 0);
  const Table table = random_table(draw, 50);
  for (const std::int64_t limit : {0, 1, 10}) {
    for (const bool levels : {false, true}) {
      Query query = Query::from("t").prefer({low("f64"), high("i32")}).rank_by({low("i16")}).limit(limit);
      if (levels) query.levels(3);
      expect_same(query, empty, gpu().pin(empty));
      expect_same(query.where("f64 > 1e300 and f64 < 0"), table, gpu().pin(table));
      expect_same(query.partition_by({"u8"}), table, gpu().pin(table));
      query.levels(std::nullopt);
      expect_same(query.at_least(0), table, gpu().pin(table));
    }
  }
}

TEST_F(DeviceRows, EveryAlgorithmKeepsItsRowsThere) {
  Draw draw(3);
  const Table table = random_table(draw, 700);
  const Table pinned = gpu().pin(table);
  for (const AlgorithmInfo& info : algorithms()) {
    if (info.problem != "skyline" || info.device != "cuda") continue;
    const std::string& algorithm = info.name;
    ForcedPath path;
    path.algorithms = {algorithm};
    path.device = DeviceChoice::cuda;
    Query query = Query::from("t").prefer({low("f64"), high("i32"), low("f32")}).levels(3);
    query.rank_by({high("i64"), low("u8")}).limit(20);
    const Result here = cpu().run(query, table);
    const Result there = gpu().run(query.using_path(path), pinned);
    EXPECT_EQ(there.rows, here.rows) << algorithm;
    EXPECT_EQ(there.levels, here.levels) << algorithm;
    EXPECT_TRUE(applies(there, "device-rows")) << algorithm;
  }
}

TEST_F(DeviceRows, WhatTheHostHasToDoItDoes) {
  Draw draw(4);
  const Table table = random_table(draw, kRows);
  const Table pinned = gpu().pin(table);
  const Query query = Query::from("t").prefer({low("f64"), high("i32")}).rank_by({low("u8")}).limit(5);
  EXPECT_TRUE(applies(expect_same(query, table, pinned), "device-rows"));
  EXPECT_FALSE(applies(expect_same(Query(query).distinct(true), table, pinned), "device-rows"));
  EXPECT_FALSE(
      applies(expect_same(Query(query).prefer(prior({pareto({low("u8"), high("i8")}), low("f64")})), table, pinned),
              "device-rows"));
  Query all = query;
  all.limit(std::nullopt);
  EXPECT_FALSE(applies(expect_same(all, table, pinned), "device-rows"));
  ForcedPath without;
  without.without = {"device-rows"};
  EXPECT_FALSE(applies(expect_same(Query(query).using_path(without), table, pinned), "device-rows"));
}

/// A skyline with a condition that keeps all that beats what it keeps.
Query random_monotone_query(Draw& draw) {
  Query query = Query::from("t").prefer({low("f64"), high("i32"), low("u16")});
  query.where(
      draw.one_of<std::string>({"f64 < 50000", "i32 > 100", "f64 <= 2000 and u16 < 300", "u16 < 0", "f64 < 1"}));
  if (draw.chance(50)) query.rank_by({high("i8"), low("u8")});
  if (draw.chance(60)) query.limit(draw.below(20));
  return query.ties(draw.one_of<Ties>({Ties::first, Ties::last, Ties::all}));
}

// The device looks at its rows, the host at those that it has: where rules say so, whatever prices do.
TEST_F(DeviceRows, AFilterMayComeAfterTheSkyline) {
  ForcedPath filter_first;
  filter_first.without = {"filter-last"};
  ForcedPath rows_to_host;
  rows_to_host.without = {"device-rows"};
  int last_there = 0;
  int last_here = 0;
  for (int i = 0; i < kQueries && !HasFailure(); ++i) {
    SCOPED_TRACE("query " + std::to_string(i));
    Draw draw(static_cast<std::uint64_t>(i));
    const Table table = random_table(draw, draw.one_of<std::int64_t>({1, 33, kRows}));
    const Table pinned = gpu().pin(table);
    const Query query = random_monotone_query(draw);
    const Result result = expect_same(query, table, pinned);
    last_there += applies(result, "filter-last") && applies(result, "device-rows") ? 1 : 0;
    last_here += applies(expect_same(Query(query).using_path(rows_to_host), table, pinned), "filter-last") ? 1 : 0;
    EXPECT_FALSE(applies(expect_same(Query(query).using_path(filter_first), table, pinned), "filter-last"));
  }
  EXPECT_GT(last_there, 0);
  EXPECT_GT(last_here, 0);
}

// The lowest of the rows that are ranked, which are not ascending where there are partitions.
TEST_F(DeviceRows, AFailingRowIsNamedAsOnTheCpu) {
  std::vector<std::int64_t> zero(200, 1);
  std::vector<std::int32_t> part(200);
  for (std::size_t i = 0; i < part.size(); ++i) part[i] = static_cast<std::int32_t>(i % 3);
  zero[100] = zero[98] = 0;  // of the second and of the third partition
  const Table table({Column::own("a", zero), Column::own("p", part)});
  for (const bool partitions : {false, true}) {
    Query query = Query::from("t").prefer({low("a * 0"), low("0 * p")}).rank_by({low("10 / a")}).limit(3);
    if (partitions) query.partition_by({"p"});
    std::vector<std::string> told;
    for (const Engine* engine : {&cpu(), &gpu()}) {
      try {
        engine->run(query, table);
        ADD_FAILURE() << "no error";
      } catch (const DataError& error) {
        told.push_back(error.message());
      }
    }
    ASSERT_EQ(told.size(), 2u);
    EXPECT_EQ(told[1], told[0]);
    EXPECT_THAT(told[0], testing::HasSubstr("row 98"));
  }
}

/// A table whose skyline of both columns is all of it.
Table antichain(std::int64_t n) {
  std::vector<float> up(static_cast<std::size_t>(n));
  std::vector<float> down(up.size());
  for (std::size_t i = 0; i < up.size(); ++i) {
    up[i] = static_cast<float>(i * 7919 % up.size());
    down[i] = -up[i];
  }
  return Table({Column::own("up", std::move(up)), Column::own("down", std::move(down))});
}

/// Bytes that the device gave away while a query ran: as told, and where the emulator sees all copies, those too.
struct Fetched {
  std::uint64_t told = 0;
  std::uint64_t seen = 0;
};

Fetched fetched(const Query& query, const Table& pinned) {
  gpu().run(query, pinned);  // what the planner learns is learned now
#ifdef SKYRANK_EMULATED
  const std::size_t before = emulator::copied().from_device;
#endif
  Fetched bytes;
  bytes.told = gpu().run(query, pinned).transferred.from_device;
#ifdef SKYRANK_EMULATED
  bytes.seen = emulator::copied().from_device - before;
#endif
  return bytes;
}

/// Single numbers with which kernels are steered.
constexpr std::uint64_t kNumbers = 256;

TEST_F(DeviceRows, OnlyTheAnswerComesToTheHost) {
  const Table pinned = gpu().pin(antichain(kRows));
  const Query query = Query::from("t").prefer({low("up"), low("down")}).rank_by({high("up")}).limit(10);
  // Places among the skyline's rows, which lie on the device, and the row ids there.
  const Fetched best = fetched(query, pinned);
  EXPECT_EQ(best.told, 10u * (sizeof(RowId) + sizeof(RowId)));
  EXPECT_LE(best.seen, best.told + kNumbers);
  const Fetched leveled = fetched(Query(query).levels(2), pinned);
  EXPECT_EQ(leveled.told, 10u * (sizeof(RowId) + sizeof(RowId) + sizeof(std::int32_t)));
  EXPECT_LE(leveled.seen, leveled.told + 2 * kNumbers);
  const Fetched none = fetched(Query(query).limit(0), pinned);
  EXPECT_EQ(none.told, 0u);
  EXPECT_LE(none.seen, kNumbers);
}

// After some levels the host finds all others at once, for which keys, ids and levels come to it, each once.
TEST_F(DeviceRows, KeysOfManyLevelsComeToTheHostOnce) {
  const Table pinned = gpu().pin(antichain(kRows));
  const Fetched levels = fetched(Query::from("t").prefer({low("up")}).levels(20).select({"row", "level"}), pinned);
  EXPECT_LE(levels.told, static_cast<std::size_t>(kRows) * sizeof(float) + 40 * (sizeof(RowId) + sizeof(std::int32_t)));
}

TEST_F(DeviceRows, NothingIsSentToRankASkyline) {
  const Table pinned = gpu().pin(antichain(kRows));
  const Query query = Query::from("t").prefer({low("up"), low("down")}).rank_by({high("up")}).limit(10);
  gpu().run(query, pinned);
  const Result result = gpu().run(query, pinned);
  EXPECT_EQ(result.transferred.to_device, 10u * sizeof(RowId));  // the places, for their ids
  EXPECT_THAT(to_string(result.plan), testing::HasSubstr("transferred: 80 B to the GPU, 80 B from it"));
}

TEST_F(DeviceRows, TheCpuTransfersNothing) {
  const Query query = Query::from("t").prefer({low("up"), low("down")}).rank_by({high("up")}).limit(10);
  EXPECT_EQ(cpu().run(query, antichain(100)).transferred, Transferred{});
}

}  // namespace
}  // namespace skyrank
