#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <limits>
#include <mutex>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/executor/engine_state.hpp"
#include "engine/executor/plan_whole.hpp"
#include "engine/executor/run_whole.hpp"
#include "engine/parts/gpus/lane_threads.hpp"
#include "engine/parts/gpus/spread.hpp"
#include "engine/parts/gpus/team.hpp"
#include "engine/parts/run_query.hpp"
#include "tests/build.hpp"
#include "tests/gpu/gpu_test.hpp"
#include "tests/semantics/expect_equal.hpp"
#include "tests/semantics/random_case.hpp"

// Tables in parts on GPUs: larger than the memory that they may use, and spread over two of them.
namespace skyrank {
namespace {

/// Before the first call to the emulator.
[[maybe_unused]] const int two_devices = tests::kEmulated ? setenv("SKYRANK_EMULATED_DEVICES", "2", 0) : 0;

/// Answers a query in the parts of a plan, whatever the planner thinks of them.
Result run_in_parts(const exec::EngineState& state, const Query& query, const Table& table, const RunOptions& options,
                    exec::QueryPlan plan) {
  return exec::with_context(state, query, options, [&](const exec::QueryContext& context) {
    plan.query = exec::bind_to(query, table).query;
    return exec::run_plan(context, plan, {.table = &table});
  });
}

/// Returns a plan with a share of a table for each GPU of an engine.
exec::QueryPlan in_shares(exec::Division division, const exec::EngineState& state, const Table& table) {
  return {.query = {},
          .division = division,
          .otherwise = exec::Division::shares,
          .reason = "a test",
          .parts = exec::split_over_gpus(state, table)};
}

constexpr std::size_t kManyRows = tests::kEmulated ? 3000 : 1'000'000;
constexpr std::size_t kFewRows = tests::kEmulated ? 1500 : 200'000;
/// Some queries over many rows need more, none over 64 rows.
constexpr std::size_t kRoom = tests::kEmulated ? std::size_t{480} << 10 : std::size_t{32} << 20;

std::vector<bool> flags(std::mt19937_64& random, std::size_t rows, unsigned one_in) {
  std::vector<bool> flags(rows);
  for (std::size_t row = 0; row < rows; ++row) flags[row] = random() % one_in != 0;
  return flags;
}

/// Numbers of all kinds with NULL and NaN, truths, times, and strings in two layouts.
Table some_table(std::size_t rows) {
  std::mt19937_64 random(7);
  std::vector<double> price(rows);
  std::vector<std::int32_t> stars(rows);
  std::vector<std::int64_t> seen(rows);
  std::vector<float> weight(rows);
  std::vector<bool> open(rows);
  std::vector<Date> day(rows);
  std::vector<std::string> city(rows);
  const std::vector<std::string> cities{"Oslo", "Aarhus", "Lund", "Turku"};
  for (std::size_t row = 0; row < rows; ++row) {
    price[row] = row % 97 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(random() % 5000) / 8;
    stars[row] = static_cast<std::int32_t>(random() % 5);
    seen[row] = static_cast<std::int64_t>(random());
    weight[row] = static_cast<float>(random() % 1000);
    open[row] = random() % 3 != 0;
    day[row] = Date{static_cast<std::int32_t>(random() % 3000)};
    city[row] = cities[random() % cities.size()];
  }
  return Table({Column::own("price", std::move(price), flags(random, rows, 50)), Column::own("stars", std::move(stars)),
                Column::own("seen", std::move(seen)), Column::own("weight", std::move(weight), flags(random, rows, 20)),
                Column::own("open", open, flags(random, rows, 9)), Column::own("day", std::move(day)),
                Column::own("city", city, flags(random, rows, 30))});
}

/// Queries of every kind.
std::vector<Query> all_kinds() {
  const auto from = [] { return Query::from("t"); };
  const auto best = [&] { return from().prefer({low("price"), high("stars"), low("weight")}); };
  return {
      from().rank_by({low("price")}).limit(100),
      from().rank_by({low("price")}).limit(100).ties(Ties::last),
      from().where("stars >= 3 and price < 300").rank_by({high("seen")}).limit(20).ties(Ties::all),
      from().rank_by({high("stars"), low("weight")}).limit(50).offset(7),
      from().where("city in ['Oslo', 'Lund'] and open").rank_by({high("price + 0.5 * weight")}).limit(30),
      from()
          .where("sqrt(weight) > 20 and log(weight) < 6 and day >= date '1972-05-01'")
          .rank_by({low("abs(price - 100)")})
          .limit(10),
      from().where("weight < 100").rank_by({low("seen")}),
      from().partition_by({"stars"}).rank_by({high("price")}).limit(3),
      from().partition_by({"city"}).prefer({low("price"), high("weight")}),
      best(),
      best().where("weight > 100").rank_by({high("seen")}).limit(10),
      best().levels(3),
      best().at_least(40),
      best().distinct(true),
      from().prefer({high("day"), in("city", {{"Oslo"}, {"Lund", "Turku"}}), where("open")}),
      from().prefer(prior({pareto({low("price"), high("stars")}), high("weight")})),
      from().prefer({low("price"), high("stars"), low("weight")}).nulls(Missing::exclude).nan(Missing::exclude),
      from()
          .group_by({"stars", "weight"})
          .aggregate({max("dearest", "price"), count("rows")})
          .prefer({high("dearest"), low("rows")}),
      from()
          .where("price < 200")
          .group_by({"city"})
          .aggregate({sum("all", "price"), count("rows")})
          .rank_by({high("all")})
          .limit(3),
      from().where("price < -1").rank_by({low("price")}).limit(4),
      from().rank_by({low("price")}).limit(0),
  };
}

Engine on_cpu() { return Engine({.threads = 2, .device = DeviceChoice::cpu}); }

Engine on_gpus(std::vector<int> devices, std::size_t room = 0) {
  return Engine({.threads = 2, .device = DeviceChoice::cuda, .devices = std::move(devices), .gpu_memory_bytes = room});
}

std::string text_of(const PlanNode& plan, const std::string& op) {
  if (plan.op == op) return plan.detail;
  for (const PlanNode& child : plan.children) {
    if (std::string text = text_of(child, op); !text.empty()) return text;
  }
  return {};
}

std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

using PartsOnGpu = gpu_testing::GpuTest;

class PartsOnTwoGpus : public gpu_testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure() && found().devices.size() < 2) GTEST_SKIP() << "one GPU only";
  }
};

TEST_F(PartsOnGpu, TablesBeyondTheLimitAreAnsweredAsOnTheCpu) {
  const Table table = some_table(kManyRows);
  const Engine gpu = on_gpus({0}, kRoom);
  int in_parts = 0;
  for (const Query& query : all_kinds()) {
    SCOPED_TRACE(to_sql(query));
    const Result there = gpu.run(query, table);
    expect_equal(there, on_cpu().run(query, table));
    in_parts += text_of(there.plan, "parts").empty() ? 0 : 1;
  }
  EXPECT_GE(in_parts, 6);
}

TEST_F(PartsOnGpu, RandomQueriesInParts) {
  EngineOptions options{.threads = 2, .device = DeviceChoice::cuda};
  options.devices = found().devices.size() > 1 ? std::vector<int>{0, 1} : std::vector<int>{0};
  const exec::EngineState state(options);
  int compared = 0;
  for (std::uint64_t seed = 0; seed < (tests::kEmulated ? 16 : 400) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase random = random_case(seed);
    // Tables of queries with keys that are expressions are not divided (engine.cpp), nor is a single row.
    if (!std::ranges::all_of(query::keys_of_table(random.query), &GroupKey::is_column)) continue;
    if (random.table.num_rows() < 2) continue;
    if (random.query.ties() == Ties::any) random.query.ties(Ties::first);
    Result expected;
    const std::string error = message_of([&] { expected = on_cpu().run(random.query, random.table); });
    Result found;
    const exec::QueryPlan parts{.query = {},
                                .division = exec::Division::turns,
                                .reason = "a test",
                                .rows_at_a_time = static_cast<std::int64_t>(64 + 64 * (seed % 3))};
    const std::string message = message_of([&] { found = run_in_parts(state, random.query, random.table, {}, parts); });
    if (message.find("no skyline algorithm fits") != std::string::npos) continue;  // of the CPU alone
    EXPECT_EQ(message, error);
    ++compared;
    if (error.empty()) expect_equal(found, expected);
  }
  EXPECT_GE(compared, tests::kEmulated ? 8 : 200);
}

TEST_F(PartsOnGpu, TheRowThatFailsFirstIsNamed) {
  std::vector<std::int64_t> divisors(kManyRows, 1);
  divisors[kManyRows - 3] = divisors[kManyRows / 2] = 0;
  std::vector<std::vector<std::int64_t>> others(8, std::vector<std::int64_t>(kManyRows, 5));
  std::vector<Column> columns{Column::own("a", std::move(divisors))};
  Query query = Query::from("t");
  std::vector<Preference> lows{low("10 / a")};
  for (std::size_t i = 0; i < others.size(); ++i) {
    columns.push_back(Column::own("b" + std::to_string(i), std::move(others[i])));
    lows.push_back(low("b" + std::to_string(i)));
  }
  query.prefer(pareto(lows));
  const Table table(std::move(columns));
  const std::string expected = message_of([&] { on_cpu().run(query, table); });
  EXPECT_THAT(expected, testing::HasSubstr("row " + std::to_string(kManyRows / 2) + ": division"));
  EXPECT_EQ(message_of([&] { on_gpus({0}, 2 * kRoom).run(query, table); }), expected);
}

TEST_F(PartsOnGpu, ALimitBelowWhatAnyPartNeedsIsAnError) {
  const Query query = Query::from("t").prefer({low("price"), high("stars")});
  const std::string message = message_of([&] { on_gpus({0}, 4096).run(query, some_table(kFewRows)); });
  EXPECT_THAT(message, testing::HasSubstr("the limit of 4096 bytes of device memory is reached"));
}

TEST_F(PartsOnGpu, WithoutTheRuleTheLimitIsAnError) {
  const Engine gpu(
      {.threads = 2, .device = DeviceChoice::cuda, .without = {"device-parts"}, .gpu_memory_bytes = 16384});
  const Query query = Query::from("t").rank_by({low("seen")}).limit(3);
  EXPECT_NE(message_of([&] { gpu.run(query, some_table(kFewRows)); }), "");
}

TEST_F(PartsOnGpu, AStopEndsAllParts) {
  const Engine gpu = on_gpus({0}, kRoom);
  const Query query = Query::from("t").prefer({low("price"), high("stars"), low("weight"), high("seen")});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(gpu.run(query, some_table(kManyRows), {.stop = stop.get_token()}), CancelledError);
  if (!tests::kEmulated) return;
  EXPECT_THROW(gpu.run(query, some_table(kManyRows), {.timeout = std::chrono::milliseconds(1)}), TimeoutError);
}

TEST_F(PartsOnTwoGpus, SharesAreAnsweredAsOnTheCpu) {
  const Table table = some_table(kFewRows);
  const Engine gpus = on_gpus({0, 1});
  const Engine other = on_gpus({1});
  const Table pinned = gpus.pin(table);
  const exec::EngineState state({.threads = 2, .device = DeviceChoice::cuda, .devices = {0, 1}});
  const exec::QueryPlan halves = in_shares(exec::Division::shares, state, table);
  int in_shares = 0;
  for (const Query& query : all_kinds()) {
    SCOPED_TRACE(to_sql(query));
    const Result expected = on_cpu().run(query, table);
    const Result shared = gpus.run(query, pinned);
    expect_equal(shared, expected);
    expect_equal(run_in_parts(state, query, table, {}, halves), expected);
    expect_equal(other.run(query, pinned), expected);
    in_shares +=
        text_of(shared.plan, "parts") == "2 parts of " + std::to_string(kFewRows) + " rows on GPUs 0, 1" ? 1 : 0;
  }
  EXPECT_GE(in_shares, 6);
}

TEST_F(PartsOnTwoGpus, SharesStayOnTheirGpus) {
  const Table table = some_table(kFewRows);
  const Engine gpus = on_gpus({1, 0});
  const Table pinned = gpus.pin(table, PinTime::on_use);
  const Query query = Query::from("t").rank_by({low("seen")}).limit(5).select({"seen"});
  gpus.run(query, pinned);
  const Result first = gpus.run(query, pinned);
  EXPECT_EQ(first.rows, on_cpu().run(query, table).rows);
  EXPECT_LT(first.transferred.to_device, 4096u);
  EXPECT_THAT(to_string(gpus.explain(query, pinned)), testing::HasSubstr("the rows lie on GPUs 1, 0"));
}

TEST_F(PartsOnTwoGpus, TablesBeyondTheLimitTakeTurns) {
  const Table table = some_table(kManyRows);
  const Engine gpus = on_gpus({1, 0}, kRoom);
  const std::vector<Query> queries = all_kinds();
  for (const std::size_t i : {1, 2, 8, 9, 18}) {
    SCOPED_TRACE(to_sql(queries[i]));
    expect_equal(gpus.run(queries[i], table), on_cpu().run(queries[i], table));
  }
}

/// Tables whose shares meet each other in all ways, with columns a to f of several types.
enum class Spread { random, opposed, few_values, equal, first_better, last_better, ascending };

Table team_table(Spread spread, std::size_t rows, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto value = [&](std::size_t row, unsigned column) -> std::int64_t {
    const auto number = static_cast<std::int64_t>(random() % 1000);
    const auto place = static_cast<std::int64_t>(row);
    const auto last = static_cast<std::int64_t>(rows);
    switch (spread) {
      case Spread::opposed: return column % 2 == 0 ? place : last - place + number % 3;
      case Spread::few_values: return number % 4;
      case Spread::equal: return 7;
      case Spread::first_better: return place < last / 2 ? number : number + 2000;
      case Spread::last_better: return place < last / 2 ? number + 2000 : number;
      case Spread::ascending: return place;
      case Spread::random: break;
    }
    return number - 500;
  };
  std::vector<float> a(rows);
  std::vector<double> b(rows);
  std::vector<std::int32_t> c(rows);
  std::vector<std::int64_t> d(rows);
  std::vector<std::uint8_t> e(rows);
  std::vector<float> f(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    a[row] = static_cast<float>(value(row, 0)) / 8;
    b[row] = static_cast<double>(value(row, 1)) / 8;
    c[row] = static_cast<std::int32_t>(value(row, 2));
    d[row] = value(row, 3) * 1'000'000'000;
    e[row] = static_cast<std::uint8_t>(value(row, 4));
    f[row] = random() % 50 == 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(value(row, 5));
  }
  return Table({Column::own("a", std::move(a)), Column::own("b", std::move(b)),
                Column::own("c", std::move(c), flags(random, rows, 40)), Column::own("d", std::move(d)),
                Column::own("e", std::move(e)), Column::own("f", std::move(f), flags(random, rows, 40))});
}

std::vector<Query> team_queries() {
  const auto from = [] { return Query::from("t"); };
  return {
      from().prefer({low("a"), low("b"), low("c")}),
      from().prefer({low("a"), high("b"), low("f"), high("a + f")}),
      from().prefer({high("a"), high("b"), low("c"), low("d"), high("e"), high("f")}).select({"row()", "level()", "a"}),
      from().prefer({low("c"), high("d"), around("e", 3)}).nulls(Missing::best),
      from().prefer({in("e", {{1, 2}, {3}}), where("a > b"), low("f")}).limit(7).select({"row()"}),
      from().prefer({low("a"), low("c"), between("d", 5, 4'000'000'000)}).rank_by({high("b")}),
  };
}

class Teams : public PartsOnTwoGpus {
 protected:
  std::vector<int> devices() const {
    std::vector<int> all;
    for (const auto& device : found().devices) all.push_back(device.ordinal);
    return all;
  }

  exec::EngineState state(std::size_t room = 0) const {
    return exec::EngineState(
        {.threads = 2, .device = DeviceChoice::cuda, .devices = devices(), .gpu_memory_bytes = room});
  }
};

TEST_F(Teams, FindTheSkylineOfTheCpu) {
  const exec::EngineState team = state();
  std::uint64_t seed = 1;
  for (const Spread spread : {Spread::random, Spread::opposed, Spread::few_values, Spread::equal, Spread::first_better,
                              Spread::last_better, Spread::ascending}) {
    // Few rows leave one share empty.
    for (const std::size_t rows : {std::size_t{50}, tests::kEmulated ? std::size_t{300} : kFewRows}) {
      const Table table = team_table(spread, rows, seed++);
      const exec::QueryPlan parts = in_shares(exec::Division::team, team, table);
      const std::vector<Query> queries = team_queries();
      // The emulator takes two of them in turn.
      const std::size_t taken = tests::kEmulated ? 2 : queries.size();
      for (std::size_t i = 0; i < taken; ++i) {
        const Query& query = queries[(seed * taken + i) % queries.size()];
        SCOPED_TRACE(std::to_string(static_cast<int>(spread)) + ", " + std::to_string(rows) + ": " + to_sql(query));
        const Result found = run_in_parts(team, query, table, {}, parts);
        expect_equal(found, on_cpu().run(query, table));
        EXPECT_THAT(text_of(found.plan, "parts"), testing::HasSubstr("compared by all together"));
      }
    }
  }
}

TEST_F(Teams, CountTheirWorkAndTransfers) {
  const exec::EngineState team = state();
  const Table table = team_table(Spread::opposed, kFewRows, 5);
  const exec::QueryPlan parts = in_shares(exec::Division::team, team, table);
  const Query query = team_queries().front();
  const Result found = run_in_parts(team, query, table, {.count_work = true}, parts);
  EXPECT_EQ(found.rows, on_cpu().run(query, table).rows);
  EXPECT_GT(found.work.mask_tests, 0u);
  EXPECT_GE(found.transferred.from_device, found.rows.size() * sizeof(RowId));
  EXPECT_THAT(to_string(found.plan), testing::HasSubstr("GPUs share the comparisons of "));
}

TEST_F(Teams, WhatTheyCannotDoIsAnsweredInParts) {
  const Table table = some_table(kFewRows);
  const Query ranks = Query::from("t").prefer({low("city"), low("price"), high("stars")});
  const exec::EngineState team = state();
  const exec::QueryPlan parts = in_shares(exec::Division::team, team, table);
  const Result found = run_in_parts(team, ranks, table, {}, parts);
  expect_equal(found, on_cpu().run(ranks, table));
  EXPECT_THAT(to_string(found.plan), testing::HasSubstr("not as a team: the host makes some of the keys"));

  const Query fails = Query::from("t").prefer({low("10 / (stars - 4)"), low("price"), high("weight")});
  EXPECT_EQ(message_of([&] { run_in_parts(team, fails, table, {}, parts); }),
            message_of([&] { on_cpu().run(fails, table); }));
  std::stop_source stop;
  stop.request_stop();
  const Query query = Query::from("t").prefer({low("price"), high("stars"), low("weight")});
  EXPECT_THROW(run_in_parts(team, query, table, {.stop = stop.get_token()}, parts), CancelledError);
}

TEST_F(Teams, TooLittleMemoryIsAnsweredInParts) {
  const exec::EngineState team = state(kRoom);
  const Table table = team_table(Spread::opposed, kManyRows, 3);
  const Query query = Query::from("t").prefer({low("a"), low("b"), high("d")});
  const exec::QueryPlan parts = in_shares(exec::Division::team, team, table);
  const Result found = run_in_parts(team, query, table, {}, parts);
  expect_equal(found, on_cpu().run(query, table));
  EXPECT_THAT(to_string(found.plan), testing::HasSubstr("not as a team: a GPU has too little memory"));
}

TEST_F(Teams, ThePlanSaysWhyThereIsNone) {
  const exec::EngineState team = state();
  const Table table = some_table(kFewRows);
  const auto why = [&](const Query& query) {
    return exec::with_context(team, query, {}, [&](const exec::QueryContext& context) {
      return exec::why_no_team(exec::plan_whole(context, exec::bind_to(query, table).query, table)).value_or("a team");
    });
  };
  const auto three = [] { return Query::from("t").prefer({low("price"), high("stars"), low("weight")}); };
  EXPECT_EQ(why(three()), "a team");
  EXPECT_EQ(why(three().rank_by({low("price")})), "a team");
  EXPECT_EQ(why(Query::from("t").rank_by({low("price")}).limit(3)), "the query has no preference");
  EXPECT_EQ(why(Query::from("t").prefer({low("price"), high("stars")})), "two columns are sorted and swept");
  EXPECT_EQ(why(three().where("stars > 2")), "the query has a condition");
  EXPECT_EQ(why(three().partition_by({"city"})), "the query has groups or partitions");
  EXPECT_EQ(why(three().nulls(Missing::exclude)), "rows are left out or refused for missing values");
  EXPECT_EQ(why(three().levels(2)), "the query asks for several levels");
  EXPECT_EQ(why(three().at_least(9)), "the query asks for several levels");
  EXPECT_EQ(why(three().distinct(true)), "equal rows are left out");
  EXPECT_EQ(why(three().rank_by({low("price")}).limit(3)), "a ranking chooses among the rows of the skyline");
  EXPECT_EQ(why(Query::from("t").prefer(prior({low("price"), pareto({low("stars"), low("weight")})}))),
            "the preference is not one Pareto order of single terms");
}

TEST(LaneThreads, WorkSideBySideAndAgain) {
  exec::LaneThreads threads;
  std::set<std::thread::id> first;
  for (int round = 0; round < 20; ++round) {
    std::mutex mutex;
    std::set<std::thread::id> ids;
    std::barrier all(3);
    threads.run(3, [&] {
      all.arrive_and_wait();  // each thread calls once
      const std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    });
    EXPECT_EQ(ids.size(), 3u);
    EXPECT_TRUE(ids.contains(std::this_thread::get_id()));
    if (round == 0) first = ids;
    EXPECT_EQ(ids, first);
  }
  int alone = 0;
  threads.run(1, [&] { ++alone; });
  EXPECT_EQ(alone, 1);
}

TEST(LaneThreads, ServeSeveralCallersAtATime) {
  exec::LaneThreads threads;
  std::atomic<int> calls = 0;
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) threads.run(3, [&] { ++calls; });
    });
  }
  callers.clear();
  EXPECT_EQ(calls, 4 * 50 * 3);
}

TEST(LaneThreads, AForkedChildStartsItsOwn) {
  exec::LaneThreads threads;
  threads.run(3, [] {});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr unsigned kSeconds = 30;
    alarm(kSeconds);  // ends a child that waits for threads of its parent
    std::atomic<int> calls = 0;
    threads.run(3, [&] { ++calls; });
    _exit(calls == 3 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(PartsOnGpu, GpusThatAreNotThereAreNamed) {
  EXPECT_EQ(message_of([] { on_gpus({-1}); }), "GPUs are numbered from 0; there is no GPU -1");
  EXPECT_EQ(message_of([] { on_gpus({0, 0}); }), "GPU 0 is named twice");
  EXPECT_THAT(message_of([] { on_gpus({0, 99}); }), testing::StartsWith("GPU 99 was asked for, but there "));
}

}  // namespace
}  // namespace skyrank
