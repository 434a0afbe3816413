#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <ostream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

#include "engine/runtime/column_cache.hpp"
#include "tests/build.hpp"
#include "tests/soak/limited_memory.hpp"

// A query that gets less memory than it needs says so, leaves nothing behind and harms no other.
namespace skyrank {
namespace {

Table make_table(std::int64_t n) {
  std::mt19937_64 random(5);
  std::vector<double> x;
  std::vector<std::int64_t> y;
  std::vector<std::int32_t> p;
  std::vector<std::string> s;
  for (std::int64_t i = 0; i < n; ++i) {
    x.push_back(static_cast<double>(random() % 1'000'003) / 7);
    y.push_back(static_cast<std::int64_t>(random() % 10'007));
    p.push_back(static_cast<std::int32_t>(random() % 5000));
    s.push_back("a string of some length " + std::to_string(random() % 1000));
  }
  return Table({Column::own("x", x), Column::own("y", y), Column::own("p", p), Column::own("s", s)});
}

constexpr std::int64_t kRows = tests::kSanitized ? 20'000 : 100'000;  // each limit is a run
constexpr std::size_t kForTheMessage = 64 << 10;                      // room to plan and to say what is missing

struct Case {
  std::string name;
  Query query;
};

void PrintTo(const Case& given, std::ostream* out) { *out << given.name; }

std::vector<Case> cases() {
  const Query from = Query::from("t");
  return {{"Filter", Query(from).where("x > 10 and s != 'b'").rank_by({low("x")}).limit(10)},
          {"Ranking", Query(from).rank_by({high("x + y")}).limit(20'000).select({"row"})},
          {"Sort", Query(from).rank_by({low("y"), high("x"), low("p")})},
          {"Skyline", Query(from).prefer({low("x"), high("y"), around("p", std::int64_t{2500})})},
          {"Levels", Query(from).prefer({low("x"), high("y")}).at_least(5000)},
          {"Prior", Query(from).prefer(prior({pareto({low("x"), high("y")}), low("p")})).partition_by({"p"})},
          {"Partitions", Query(from).partition_by({"p", "s"}).rank_by({low("x")}).limit(1)},
          {"Groups", Query(from).group_by({"p", "s"}).aggregate({sum("a", "y"), max("m", "x")}).rank_by({high("a")})}};
}

class MemoryLimit : public testing::TestWithParam<Case> {};

TEST_P(MemoryLimit, IsKeptAndReported) {
  static const Table kTable = make_table(kRows);
  const Query& query = GetParam().query;
  for (const int threads : tests::thread_counts({1, 3})) {
    const Engine engine({.threads = threads});
    std::vector<RowId> expected = engine.run(query, kTable).rows;  // and what the table keeps is there
    memory::reset_peak();
    const std::size_t before = memory::live();
    engine.run(query, kTable);
    const std::size_t needed = memory::peak() - before;
    int refused = 0;
    const std::vector<double> parts = tests::kSanitized ? std::vector{0.0, 0.4, 0.85, 2.0}
                                                        : std::vector{0.0, 0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.95, 2.0};
    for (const double part : parts) {
      const std::size_t most =
          memory::live() + kForTheMessage + static_cast<std::size_t>(part * static_cast<double>(needed));
      memory::reset_peak();
      std::string message;
      try {
        const memory::Limit limit(most);
        EXPECT_EQ(engine.run(query, kTable).rows, expected);
      } catch (const ResourceError& error) {
        message = error.message();
        ++refused;
      }
      EXPECT_LE(memory::peak(), most);
      EXPECT_TRUE(message.empty() || message.starts_with("out of memory")) << message;
      EXPECT_TRUE(message.empty() || message.find("B beside its table") != std::string::npos) << message;
      EXPECT_TRUE(message.empty() || part < 2) << message;
    }
    if (needed > 2 * kForTheMessage) {
      EXPECT_GT(refused, 0);
    }
    EXPECT_EQ(engine.run(query, kTable).rows, expected) << "usable afterwards";
    EXPECT_LE(memory::live(), before + 100'000) << "something is left of queries that failed";
  }
}

// ---- A limit of the engine's own ----

constexpr std::size_t kNotCounted = 512 << 10;  // plans and messages, and what threads have once

/// The answer under a limit; nothing where it was too low, as the message has to say. The limit is kept either way.
std::optional<std::vector<RowId>> answer_within(std::size_t limit, const Engine& engine, const Query& query,
                                                const Table& table) {
  const std::size_t before = memory::live();
  memory::reset_peak();
  std::optional<std::vector<RowId>> rows;
  try {
    rows = engine.run(query, table).rows;
  } catch (const ResourceError& error) {
    EXPECT_THAT(error.message(),
                testing::MatchesRegex("the query needs more than [0-9.]+ [kM]B beside its table, and the "
                                      "engine's limit of memory is [0-9.]+ [kM]B.*"));
  }
  EXPECT_LE(memory::peak(), before + limit + kNotCounted) << "limit " << limit;
  EXPECT_LE(memory::live(), before + (rows ? rows->size() * sizeof(RowId) : 0) + 100'000) << "something is left";
  return rows;
}

TEST_P(MemoryLimit, OfTheEngineIsKeptAndReported) {
  const Query& query = GetParam().query;
  for (const int threads : tests::thread_counts({1, 3})) {
    const Table table = make_table(kRows);  // that knows nothing yet
    const std::vector<RowId> expected = Engine({.threads = threads}).run(query, table).rows;
    int refused = 0;
    std::size_t limit = 32 << 10;
    for (; limit < std::size_t{1} << 30; limit += tests::kSanitized ? limit : limit / 2) {
      const Engine engine({.threads = threads, .memory_bytes = limit});
      const auto rows = answer_within(limit, engine, query, table);
      if (!rows) {
        ++refused;
        continue;
      }
      EXPECT_EQ(*rows, expected);
      // Later queries have as much memory, as each gives back what it took. Several threads vary by some buffers.
      const std::size_t enough = limit + (threads > 1 ? kNotCounted : 0);
      const Engine engine_again({.threads = threads, .memory_bytes = enough});
      for (int i = 0; i < (tests::kSanitized ? 2 : 4); ++i) {
        EXPECT_TRUE(answer_within(enough, engine_again, query, table)) << enough;
      }
      break;
    }
    EXPECT_LT(limit, std::size_t{32} << 20);
    EXPECT_GT(refused, 0);
  }
}

/// The amount that the engine says is too little; nothing where the query succeeds.
std::optional<std::size_t> amount_told(const Query& query, const Table& table, int threads, std::size_t limit) {
  const Engine engine({.threads = threads, .memory_bytes = limit});
  try {
    engine.run(query, table);
    return std::nullopt;
  } catch (const ResourceError& error) {
    std::istringstream text(error.message().substr(std::string("the query needs more than ").size()));
    double number = 0;
    std::string unit;
    text >> number >> unit;
    EXPECT_TRUE(unit == "kB" || unit == "MB") << error.message();
    return static_cast<std::size_t>(std::llround(number * (unit == "kB" ? 1e3 : 1e6)));
  }
}

// Whoever raises the limit to what is told comes nearer to what is enough each time.
TEST_P(MemoryLimit, TheAmountToldIsMoreThanTheLimit) {
  const Table table = make_table(kRows);
  std::size_t limit = 1000;
  for (int i = 0; i < 1000; ++i) {
    const std::optional<std::size_t> told = amount_told(GetParam().query, table, 1, limit);
    if (!told) return;
    ASSERT_GT(*told, limit);
    limit = *told + *told / 4;
  }
  ADD_FAILURE() << limit << " bytes do not suffice";
}

/// A query of random parts over the table of the fixed ones.
Query random_query(std::mt19937_64& random) {
  const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
  Query query = Query::from("t");
  if (chance(50)) query.where(std::vector<const char*>{"x > 50000", "y < 3000", "p % 3 = 1"}[random() % 3]);
  if (chance(30)) {
    query.group_by({chance(50) ? "p" : "y"}).aggregate({sum("a", "x"), count("n")}).rank_by({high("a")});
    if (chance(50)) query.limit(static_cast<std::int64_t>(random() % 5000));
    return query;
  }
  if (chance(30)) query.partition_by({chance(50) ? "p" : "s"});
  if (chance(50)) query.prefer({low("x"), high("y")});
  if (chance(60) || !query.prefer()) {
    query.rank_by({low("x + y"), high("p")}).limit(static_cast<std::int64_t>(1 + random() % 50'000));
  }
  return query;
}

TEST(EngineMemory, RandomQueriesAreAnsweredOrRefused) {
  std::mt19937_64 random(31);
  const Table table = make_table(20'000);
  for (int i = 0; i < (tests::kSanitized ? 12 : 24); ++i) {
    const Query query = random_query(random);
    const std::vector<RowId> expected = Engine({.threads = 1}).run(query, table).rows;
    std::optional<std::vector<RowId>> rows;
    for (std::size_t limit = 32 << 10; !rows && limit < std::size_t{1} << 26; limit *= 2) {
      rows = answer_within(limit, Engine({.threads = 2, .memory_bytes = limit}), query, table);
    }
    EXPECT_EQ(rows, expected) << "query " << i;
  }
}

// Refused queries leave nothing on the engine's account.
TEST(EngineMemory, RefusedQueriesTakeNothingFromLaterOnes) {
  const Table table = make_table(50'000);
  const Query large = Query::from("t").rank_by({low("y"), high("x"), low("p")});
  const Query small = Query::from("t").where("p < 50").prefer({low("x"), high("y")});
  constexpr std::size_t kLimit = 800 << 10;
  const Engine engine({.threads = 3, .memory_bytes = kLimit});
  const std::vector<RowId> expected = Engine({.threads = 1}).run(small, table).rows;
  for (int i = 0; i < (tests::kSanitized ? 4 : 50); ++i) {
    EXPECT_FALSE(answer_within(kLimit, engine, large, table));
    EXPECT_EQ(answer_within(kLimit, engine, small, table), expected);
  }
}

TEST(EngineMemory, CallersShareTheLimit) {
  const Table table = make_table(100'000);
  const Query query = Query::from("t").rank_by({low("y"), high("x")});
  const std::vector<RowId> expected = Engine({.threads = 1}).run(query, table).rows;
  constexpr std::size_t kLimit = 16 << 20;  // for one or two
  const Engine engine({.threads = 3, .memory_bytes = kLimit});
  std::vector<std::vector<RowId>> answers(6);
  std::atomic<int> refused = 0;
  const std::size_t handed_over = answers.size() * expected.size() * (sizeof(RowId) + 40);  // to the callers
  const std::size_t before = memory::live();
  memory::reset_peak();
  {
    std::vector<std::jthread> callers;
    for (std::vector<RowId>& rows : answers) {
      callers.emplace_back([&] {
        try {
          rows = engine.run(query, table).rows;
        } catch (const ResourceError&) {
          ++refused;
        }
      });
    }
  }
  EXPECT_LE(memory::peak(), before + kLimit + handed_over + 6 * kNotCounted);
  for (const std::vector<RowId>& rows : answers) EXPECT_TRUE(rows.empty() || rows == expected);
  EXPECT_EQ(std::ranges::count(answers, expected) + refused, 6);
  EXPECT_EQ(engine.run(query, table).rows, expected);
}

TEST(EngineMemory, KeptKeysGiveWayToQueries) {
  const Table table = make_table(100'000);
  constexpr std::size_t kLimit = 12 << 20;
  const Engine engine({.threads = 1, .shared_key_bytes = kLimit, .memory_bytes = kLimit});
  const Query ranked = Query::from("t").rank_by({low("y"), high("x")});
  const std::vector<RowId> expected = Engine({.threads = 1}).run(ranked, table).rows;
  for (const char* column : {"x", "y", "p", "x + 1", "x + 2", "x + 3", "y + 1", "y + 2", "p + 1", "x * 2", "x * 3"}) {
    EXPECT_NO_THROW(engine.run(Query::from("t").prefer({low(column), high("y")}), table)) << column;
  }
  EXPECT_EQ(engine.run(ranked, table).rows, expected);
}

// A table may outlive the engine whose query made its zone maps.
TEST(EngineMemory, WhatTablesKeepOutlivesTheEngine) {
  const Table table = make_table(300'000);
  const Query query = Query::from("t").rank_by({high("x")}).limit(3);
  std::vector<RowId> rows;
  {
    const Engine engine({.threads = 2, .memory_bytes = std::size_t{64} << 20});
    rows = engine.run(query, table).rows;
  }
  EXPECT_NE(exec::cache_of(table.column("x").data())->zone_map(true), nullptr);
  EXPECT_EQ(Engine({.threads = 1}).run(query, table).rows, rows);
}

TEST(EngineMemory, WithoutRoomForZoneMapsNoneAreMade) {
  const Table table = make_table(300'000);
  const Engine engine({.threads = 1, .memory_bytes = 12'000});  // less than twice a zone map of 300,000 doubles
  try {
    engine.run(Query::from("t").rank_by({high("x")}).limit(3).select({"row"}), table);
  } catch (const ResourceError&) {  // for want of room for blocks of keys
  }
  EXPECT_EQ(exec::cache_of(table.column("x").data())->zone_map(true), nullptr);
}

/// The operators of a plan that run an algorithm.
void collect(const PlanNode& plan, std::vector<PlanNode>& found) {
  if (!plan.algorithm.empty()) found.push_back(plan);
  for (const PlanNode& child : plan.children) collect(child, found);
}

/// The one path of a plan.
PlanNode path_of(const PlanNode& plan) {
  std::vector<PlanNode> found;
  collect(plan, found);
  EXPECT_EQ(found.size(), 1u);
  return found.front();
}

TEST(EngineMemory, ThePlannerTakesAPathThatFits) {
  std::mt19937_64 random(7);
  std::vector<std::vector<float>> columns(2, std::vector<float>(100'000));
  for (std::vector<float>& column : columns) {
    for (float& value : column) value = static_cast<float>(random() % 1'000'003);
  }
  const Table table({Column::own("x", columns[0]), Column::own("y", columns[1])});
  const Query query =
      Query::from("t")
          .rank_by({low("x"), low("y")})
          .limit(10'000)
          .select({"row"})
          .using_path({.algorithms = {"nth-element", "heap"}, .device = DeviceChoice::cpu, .parameters = {}});
  const Engine free({.threads = 1});
  const Result fastest = free.run(query, table);
  EXPECT_EQ(path_of(fastest.plan).algorithm, "nth-element");
  // Beside the keys, of 0.8 MB, there is room for a heap, but not for the ranks of all rows.
  const Result bound = Engine({.threads = 1, .memory_bytes = 1'850'000}).run(query, table);
  const PlanNode path = path_of(bound.plan);
  EXPECT_EQ(path.algorithm, "heap");
  const auto lost = std::ranges::find(path.alternatives, "nth-element", &Alternative::algorithm);
  ASSERT_NE(lost, path.alternatives.end());
  EXPECT_THAT(lost->reason, testing::MatchesRegex("needs about .* of memory and the limit leaves .*"));
  EXPECT_EQ(bound.rows, fastest.rows);
}

INSTANTIATE_TEST_SUITE_P(Queries, MemoryLimit, testing::ValuesIn(cases()),
                         [](const auto& given) { return given.param.name; });

}  // namespace
}  // namespace skyrank
