#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/engine.hpp>
#include <skyrank/error.hpp>

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

constexpr std::size_t kForTheMessage = 64 << 10;  // room to plan and to say what is missing

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
  static const Table kTable = make_table(100'000);
  const Query& query = GetParam().query;
  for (const int threads : {1, 3}) {
    const Engine engine({.threads = threads});
    std::vector<RowId> expected = engine.run(query, kTable).rows;  // and what the table keeps is there
    memory::reset_peak();
    const std::size_t before = memory::live();
    engine.run(query, kTable);
    const std::size_t needed = memory::peak() - before;
    int refused = 0;
    for (const double part : {0.0, 0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 0.95, 2.0}) {
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
      EXPECT_TRUE(message.empty() || message.find(" MB") != std::string::npos) << message;
      EXPECT_TRUE(message.empty() || part < 2) << message;
    }
    if (needed > 2 * kForTheMessage) {
      EXPECT_GT(refused, 0);
    }
    EXPECT_EQ(engine.run(query, kTable).rows, expected) << "usable afterwards";
    EXPECT_LE(memory::live(), before + 100'000) << "something is left of queries that failed";
  }
}

INSTANTIATE_TEST_SUITE_P(Queries, MemoryLimit, testing::ValuesIn(cases()),
                         [](const auto& given) { return given.param.name; });

}  // namespace
}  // namespace skyrank
