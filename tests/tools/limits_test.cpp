#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/build.hpp"
#include "tests/tools/program.hpp"

// Limits of memory and time, exit statuses, and batches with several mistakes.
namespace skyrank::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr std::int64_t kMegabyte = 1'000'000;
// The program itself, its threads and what its allocator keeps.
constexpr std::int64_t kProgram = 150 * kMegabyte;

std::string repeated(const std::string& text, int times) {
  std::string all;
  all.reserve(text.size() * static_cast<std::size_t>(times));
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

Outcome sql(const std::string& statement, std::vector<std::string> options = {}, const ProgramOptions& how = {}) {
  options.insert(options.begin(), {"sql", statement, "--threads", "2"});
  return run_skyrank(options, how);
}

// ---- Memory ----

class TextMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (tests::kSanitized) GTEST_SKIP() << "a sanitizer needs memory of its own";
  }

  void gzip(const std::string& name) const { ASSERT_EQ(run_program("gzip", {"-1", folder_ / name}).status, 0); }

  TemporaryFolder folder_;
};

TEST_F(TextMemory, OfWhatIsDecompressedAFewBlocksAreThere) {
  folder_.write("rows.csv", "a,b\n" + repeated("1,2\n", 20'000'000));
  folder_.write("rows.jsonl", repeated("{\"a\":1}\n", 5'000'000));
  for (const std::string name : {"rows.csv", "rows.jsonl"}) {
    gzip(name);
    const Outcome outcome = sql("SELECT a FROM '" + folder_ / (name + ".gz") + "' ORDER BY a LIMIT 1",
                                {"--memory-limit", "30MB", "--format", "csv"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "a\n1\n");
    EXPECT_LT(outcome.peak_bytes, 30 * kMegabyte + kProgram) << name;
  }
}

TEST_F(TextMemory, ALongRecordIsRefusedWithItsPlace) {
  folder_.write("line.csv", "a,b\n1,2\n1," + std::string(200 * kMegabyte, 'x') + "\n");
  folder_.write("quote.csv", "a,b\n1,2\n1,\"" + repeated("x\n", 100'000'000));
  folder_.write("text.jsonl", "{\"a\":\"b\"}\n{\"a\":\"" + std::string(200 * kMegabyte, 'x') + "\"}\n");
  for (const std::string name : {"line.csv", "quote.csv", "text.jsonl"}) {
    const Outcome outcome =
        sql("SELECT * FROM '" + folder_ / name + "' ORDER BY a LIMIT 1", {"--memory-limit", "100MB"});
    EXPECT_EQ(outcome.status, 1) << name;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(name + ":"), HasSubstr("a record is longer than")));
    EXPECT_LT(outcome.peak_bytes, 100 * kMegabyte + kProgram) << name;
  }
}

TEST_F(TextMemory, ATextWithoutLinesIsRefused) {
  folder_.write("line.csv", "a,b\n" + std::string(300 * kMegabyte, '7'));
  gzip("line.csv");
  const Outcome outcome =
      sql("SELECT * FROM '" + folder_ / "line.csv.gz" + "' ORDER BY a LIMIT 1", {"--memory-limit", "50MB"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("a record is longer than"));
  EXPECT_LT(outcome.peak_bytes, 50 * kMegabyte + kProgram);
}

// A file of some kilobytes, of which one text takes more than the limit once its page is decompressed.
TEST_F(TextMemory, TextsOfPagesCountAsTheyAreDecompressed) {
  folder_.write("rows.csv", "a,s\n1," + std::string(60 * kMegabyte, 'x') + "\n2,y\n");
  const std::string table = folder_ / "rows.parquet";
  ASSERT_EQ(sql("SELECT a, s FROM '" + folder_ / "rows.csv" + "' ORDER BY a", {"--out", table}).status, 0);
  ASSERT_LT(std::filesystem::file_size(table), 5 * kMegabyte);
  const std::string statement = "SELECT a FROM '" + table + "' ORDER BY s DESC LIMIT 1";
  const Outcome outcome = sql(statement, {"--memory-limit", "30MB"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("the engine's limit of memory is 30 MB"));
  EXPECT_LT(outcome.peak_bytes, 30 * kMegabyte + kProgram);
  EXPECT_EQ(sql(statement, {"--memory-limit", "300MB", "--format", "csv"}).out, "a\n2\n");
}

TEST_F(TextMemory, NamesOfColumnsCount) {
  std::string names = "c0";
  std::string values = "0";
  for (int c = 1; c < 500'000; ++c) {
    names += ",c" + std::to_string(c);
    values += ",1";
  }
  const std::string table = folder_.write("wide.csv", names + "\n" + values + "\n");
  const Outcome outcome = sql("SELECT c1 FROM '" + table + "' ORDER BY c1 LIMIT 1", {"--memory-limit", "100MB"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("wide.csv: has 500000 columns, whose names do not fit the limit of memory"));
  EXPECT_LT(outcome.peak_bytes, 100 * kMegabyte + kProgram);
  EXPECT_EQ(sql("SELECT c1 FROM '" + table + "' ORDER BY c1 LIMIT 1", {"--memory-limit", "500MB"}).status, 0);
}

TEST_F(TextMemory, ABatchKeepsNoMoreThanTheDefaultLimit) {
  const std::string table = folder_ / "points.parquet";
  ASSERT_EQ(
      run_skyrank({"generate", "--distribution", "uniform", "--rows", "1000000", "--dims", "4", "--out", table}).status,
      0);
  std::string batch = "version: 1\ntables: {t: {file: points.parquet}}\nqueries:\n";
  for (int i = 1; i <= 100; ++i) {
    batch += "  - {name: q" + std::to_string(i) + ", sql: \"SELECT c0, c1 FROM t WHERE c2 < " +
             std::to_string(i / 100.0) + " ORDER BY c0, c" + std::to_string(1 + i % 3) + " LIMIT 3\"}\n";
  }
  // The address space bounds what the process may use, as a control group does.
  constexpr rlim_t kSpace = std::size_t{1200} * kMegabyte;
  ProgramOptions limited;
  limited.in_child = [] {
    const rlimit limit = {kSpace, kSpace};
    setrlimit(RLIMIT_AS, &limit);
  };
  const Outcome outcome = run_skyrank({"run", folder_.write("batch.yaml", batch), "--threads", "2", "-q"}, limited);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_LT(outcome.peak_bytes, static_cast<std::int64_t>(kSpace));
}

// ---- Time ----

TEST(TimeLimit, CountsReading) {
  const TemporaryFolder folder;
  folder.write("rows.csv", "a,b\n" + repeated("123456,0.25\n", 3'000'000));
  const std::string statement = "SELECT a FROM '" + folder / "rows.csv" + "' ORDER BY a LIMIT 1";
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{}, std::vector<std::string>{"--memory-limit", "20MB"}}) {
    std::vector<std::string> limited = options;
    limited.insert(limited.end(), {"--timeout", "1ms"});
    const Outcome outcome = sql(statement, limited);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.err, HasSubstr("the query 'answer' took longer than its time limit of 1 ms, and was at: "));
    std::vector<std::string> long_enough = options;
    long_enough.insert(long_enough.end(), {"--timeout", "1h"});
    EXPECT_EQ(sql(statement, long_enough).status, 0);
  }
}

TEST(TimeLimit, EndsWaitingForAPipe) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe.csv";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0644), 0);
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = sql("SELECT a FROM '" + pipe + "' ORDER BY a LIMIT 1", {"--timeout", "200ms"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("took longer than its time limit of 200 ms"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(TimeLimit, OfOneQueryIsNotThatOfTheNext) {
  const TemporaryFolder folder;
  folder.write("rows.csv", "a,b\n" + repeated("123456,0.25\n", 1'000'000));
  const std::string batch = folder.write("batch.yaml", R"(version: 1
tables: {t: {file: rows.csv}}
queries:
  - {name: hasty, from: t, rank_by: {low: a}, limit: 1, timeout: 1ms}
  - {name: patient, from: t, rank_by: {low: a}, limit: 1, select: [a]}
)");
  const Outcome outcome = run_skyrank({"run", batch, "--json"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("'hasty' took longer"), Not(HasSubstr("patient"))));
  EXPECT_THAT(outcome.out, HasSubstr("123456"));
}

// ---- Exits ----

struct Exit {
  const char* what;
  std::vector<std::string> arguments;
  int status;
  const char* message;
};

TEST(Exits, TellWhoseFaultItWas) {
  const TemporaryFolder folder;
  folder.write("good.csv", "a,b\n1,2\n");
  folder.write("ragged.csv", "a,b\n1,2\n1,2,3\n");
  folder.write("damaged.parquet", "PAR1" + std::string(100, 'x') + "PAR1");
  folder.write("damaged.csv.gz", "\x1F\x8B" + std::string(100, 'x'));
  const auto select = [&](const char* file) {
    return std::vector<std::string>{"sql", "SELECT * FROM '" + folder / file + "' ORDER BY a LIMIT 1"};
  };
  const auto batch = [&](const char* name, const std::string& text) {
    return std::vector<std::string>{"run", folder.write(name, text)};
  };
  const std::string head = "version: 1\ntables: {t: {file: good.csv}}\nqueries:\n";
  std::vector<Exit> exits = {
      {"no command", {}, 2, "no command given"},
      {"an unknown option", {"algorithms", "--frobnicate"}, 2, "--frobnicate"},
      {"a missing batch", {"run", folder / "none.yaml"}, 2, "no such file"},
      {"bad YAML", batch("bad.yaml", "version: [1\n"), 2, "bad.yaml:"},
      {"an unknown key", batch("key.yaml", head + "  - {name: a, from: t, rank: {low: a}}\n"), 2, "key.yaml:4:"},
      {"an unknown column", batch("column.yaml", head + "  - {name: a, from: t, rank_by: {low: z}}\n"), 2, "'z'"},
      {"a missing file", select("none.csv"), 2, "none.csv"},
      {"a ragged file", select("ragged.csv"), 2, "ragged.csv:3"},
      {"damaged Parquet", select("damaged.parquet"), 2, "damaged.parquet"},
      {"damaged gzip", select("damaged.csv.gz"), 2, "damaged.csv.gz"},
      {"a bad statement", {"sql", "SELECT FROM"}, 2, "sql:1:"},
      {"a bad limit", {"sql", "SELECT * FROM 'x.csv' ORDER BY a LIMIT 1", "--memory-limit", "much"}, 2, "much"},
  };
  if (geteuid() != 0) {
    folder.write("unreadable.csv", "a,b\n1,2\n");
    chmod((folder / "unreadable.csv").c_str(), 0);
    exits.push_back({"an unreadable file", select("unreadable.csv"), 1, "unreadable.csv"});
  }
  for (const Exit& exit : exits) {
    const Outcome outcome = run_skyrank(exit.arguments);
    EXPECT_EQ(outcome.status, exit.status) << exit.what << ": " << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(exit.message), Not(HasSubstr("unknown kind")))) << exit.what;
  }
  const Outcome no_memory =
      run_skyrank({"sql", "SELECT * FROM '" + folder / "good.csv" + "' ORDER BY a LIMIT 1", "--memory-limit", "1"});
  EXPECT_EQ(no_memory.status, 1) << no_memory.err;
}

TEST(Exits, OfASignalWhileGroupsAreMadeFromBlocks) {
  const TemporaryFolder folder;
  std::string rows = "k,v\n";
  for (std::uint32_t i = 0; i < 600'000; ++i) {
    rows += "user" + std::to_string(i * 2654435761U % 450'000) + "," + std::to_string(i) + "\n";
  }
  const std::string statement = "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM '" + folder.write("groups.csv", rows) +
                                "' GROUP BY k ORDER BY n DESC LIMIT 3";
  for (const int signal : {SIGINT, SIGTERM}) {
    for (int wait = 50; wait <= 650; wait += 100) {
      ProgramOptions options;
      std::jthread killer;
      options.while_it_runs = [&](pid_t process, const Outcome&) {
        if (killer.joinable()) return;
        killer = std::jthread([=] {
          std::this_thread::sleep_for(std::chrono::milliseconds(wait));
          kill(process, signal);
        });
      };
      const Outcome outcome = sql(statement, {"--memory-limit", "30MB", "-q"}, options);
      killer.join();
      // The signal itself ends a process that has hardly begun.
      const int status = outcome.signal == 0 ? outcome.status : 128 + outcome.signal;
      EXPECT_THAT(status, AnyOf(0, 128 + signal)) << wait << " ms: " << outcome.err;
      EXPECT_THAT(outcome.err, Not(HasSubstr("unknown kind")));
    }
  }
}

// ---- Batches with several mistakes ----

constexpr const char* kMistakes = R"(version: 1
tables:
  t: {file: good.csv, heder: true}
  u: {file: good.csv, delimiter: [a]}
queries:
  - {name: one, from: t, rank_by: [{low: a}, {lo: b}, {high: "a +"}], limit: many}
  - {name: two, from: t, rank_by: {low: z}}
  - {name: three, from: v, rank_by: {low: a}}
  - {name: four, sql: "SELECT * FROM t ORDER BY", timeout: soon}
  - {name: five, from: t, rank_by: {low: a}, limit: 1}
)";

TEST(Mistakes, OfABatchAreAllReportedByTheirLines) {
  const TemporaryFolder folder;
  folder.write("good.csv", "a,b\n1,2\n");
  const std::string batch = folder.write("batch.yaml", kMistakes);
  for (const std::string command : {"check", "run"}) {
    const Outcome outcome = run_skyrank({command, batch});
    EXPECT_EQ(outcome.status, 2);
    std::vector<std::string> places;
    std::istringstream lines(outcome.err);
    for (std::string line; std::getline(lines, line);) {
      const std::string start = "skyrank: " + batch + ":";
      EXPECT_THAT(line, StartsWith(start));
      places.push_back(line.substr(start.size(), 2));
    }
    EXPECT_EQ(places, (std::vector<std::string>{"3:", "4:", "6:", "6:", "6:", "7:", "8:", "9:", "9:"}))
        << command << outcome.err;
  }
  const Json document = Json::parse(run_skyrank({"check", batch, "--json"}).out);
  EXPECT_EQ(document["error"]["line"], 3);
  EXPECT_EQ(document["errors"].size(), 8U);
  EXPECT_EQ(document["queries"].size(), 2U);
  EXPECT_EQ(document["queries"][0]["error"]["line"], 7);
}

TEST(Mistakes, BeyondTwentyAreCounted) {
  const TemporaryFolder folder;
  folder.write("good.csv", "a,b\n1,2\n");
  std::string unread = "version: 1\ntables: {t: {file: good.csv}}\nqueries:\n";
  std::string unbound = unread;
  for (int i = 0; i < 25; ++i) {
    const std::string name = "q" + std::to_string(i);
    unread += "  - {name: " + name + ", from: t, rank_by: {low: \"a +\"}}\n";
    unbound += "  - {name: " + name + ", from: t, rank_by: {low: z}}\n";
  }
  for (const std::string& text : {unread, unbound}) {
    const std::string batch = folder.write("batch.yaml", text);
    for (const std::string command : {"check", "run"}) {
      const Outcome outcome = run_skyrank({command, batch});
      EXPECT_EQ(outcome.status, 2);
      const auto lines = std::count(outcome.err.begin(), outcome.err.end(), '\n');
      EXPECT_GE(lines, 21) << outcome.err;
      EXPECT_THAT(outcome.err, HasSubstr("skyrank: and 5 more\n"));
      EXPECT_THAT(outcome.err, Not(HasSubstr("batch.yaml:24:")));
    }
  }
}

}  // namespace
}  // namespace skyrank::testing
