#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include <nlohmann/json.hpp>

#include "tests/tools/program.hpp"

// Full disks, closed pipes, signals, terminals.
namespace skyrank::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

/// Its skyline takes far longer than any test waits.
constexpr const char* kSlow = R"(version: 1
tables:
  points: {generate: {distribution: independent, rows: 400000, dims: 16, seed: 1}}
queries:
  - name: slow
    from: points
    prefer: [{low: c0}, {low: c1}, {low: c2}, {low: c3}, {low: c4}, {low: c5}, {low: c6}, {low: c7}, {low: c8},
             {low: c9}, {low: c10}, {low: c11}, {low: c12}, {low: c13}, {low: c14}, {low: c15}]
    using: {algorithm: bnl}
)";

constexpr const char* kLong = R"(version: 1
tables:
  points: {generate: {distribution: uniform, rows: 50000, dims: 2, seed: 1}}
queries:
  - {name: long, from: points, rank_by: {low: c0}}
)";

std::string in_shell(const std::string& batch, const std::string& rest) {
  return "'" + skyrank_program() + "' run '" + batch + "' " + rest;
}

Outcome run_shell(const std::string& script) { return run_program("bash", {"-c", script}); }

TEST(Robustness, AFullDiskIsReported) {
  const TemporaryFolder folder;
  const std::string batch = folder.write("long.yaml", kLong);
  for (const std::string options : {"", "--json", "--format csv"}) {
    const Outcome outcome = run_shell(in_shell(batch, options + " > /dev/full"));
    EXPECT_EQ(outcome.status, 1) << options;
    EXPECT_EQ(outcome.err, "skyrank: standard output: No space left on device\n") << options;
  }
  const Outcome small = run_shell("'" + skyrank_program() + "' --version > /dev/full");
  EXPECT_EQ(small.status, 1);
  EXPECT_EQ(small.err, "skyrank: standard output: No space left on device\n");
}

TEST(Robustness, AFileThatCannotGrowLeavesNothingBehind) {
  const TemporaryFolder folder;
  const std::string batch = folder.write("long.yaml", kLong);
  std::filesystem::create_directory(folder / "out");
  ProgramOptions limited;
  limited.in_child = [] {
    const rlimit limit = {10000, 10000};
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  for (const std::string format : {"csv", "jsonl", "parquet", "arrow"}) {
    const std::string file = folder / ("out/long." + format);
    const Outcome outcome = run_skyrank({"run", batch, "--out", folder / "out", "--format", format}, limited);
    EXPECT_EQ(outcome.status, 1) << format;
    EXPECT_THAT(outcome.err, StartsWith("skyrank: " + file + ": ")) << format;
    EXPECT_THAT(outcome.err, HasSubstr("File too large")) << format;
    EXPECT_EQ(outcome.out, "") << format;
    const Outcome generated =
        run_skyrank({"generate", "--distribution", "uniform", "--rows", "50000", "--out", file}, limited);
    EXPECT_EQ(generated.status, 1) << format;
    EXPECT_TRUE(std::filesystem::is_empty(folder / "out")) << format;
  }
}

TEST(Robustness, AFileThatMayNotBeReadIsTheSystemsFault) {
  const TemporaryFolder folder;
  folder.write("points.csv", "c0\n1\n");
  const std::string batch = folder.write("long.yaml", kLong);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  ProgramOptions as_nobody;
  as_nobody.in_child = [] {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(126);  // root may read everything
  };
  if (run_skyrank({"--version"}, as_nobody).status != 0)
    GTEST_SKIP() << "other users may not run " << skyrank_program();
  const std::vector<std::string> arguments = {"run", batch, "--set", "points.file=" + folder / "points.csv"};
  std::filesystem::permissions(folder / "points.csv", std::filesystem::perms::none);
  const Outcome table = run_skyrank(arguments, as_nobody);
  EXPECT_EQ(table.status, 1);
  EXPECT_EQ(table.err, "skyrank: " + folder / "points.csv" + ": cannot be read: Permission denied\n");
  std::filesystem::permissions(batch, std::filesystem::perms::none);
  const Outcome unreadable = run_skyrank(arguments, as_nobody);
  EXPECT_EQ(unreadable.status, 1);
  EXPECT_EQ(unreadable.err, "skyrank: " + batch + ": cannot read the batch: Permission denied\n");
}

TEST(Robustness, AnOutputFolderThatCannotBeMade) {
  const TemporaryFolder folder;
  const std::string batch = folder.write("long.yaml", kLong);
  const Outcome is_file = run_skyrank({"run", batch, "--out", batch});
  EXPECT_EQ(is_file.status, 2);
  EXPECT_EQ(is_file.err, "skyrank: --out " + batch + ": is a file, not a folder\n");
  const Outcome below_file = run_skyrank({"run", batch, "--out", batch + "/below"});
  EXPECT_EQ(below_file.status, 1);
  EXPECT_THAT(below_file.err, HasSubstr("Not a directory"));
  const Outcome on_proc = run_skyrank({"run", batch, "--out", "/proc/skyrank"});
  EXPECT_EQ(on_proc.status, 1);
  EXPECT_THAT(on_proc.err, StartsWith("skyrank: /proc/skyrank: "));
}

TEST(Robustness, AClosedPipeEndsTheRunSilently) {
  const TemporaryFolder folder;
  const std::string batch = folder.write("long.yaml", kLong);
  for (const std::string options : {"", "--json", "--format csv"}) {
    const Outcome outcome = run_shell(in_shell(batch, options + " | head -c 20; exit ${PIPESTATUS[0]}"));
    EXPECT_EQ(outcome.status, 1) << options;
    EXPECT_EQ(outcome.err, "") << options;
    EXPECT_EQ(outcome.out.size(), 20U) << options;
  }
}

TEST(Robustness, AClosedStandardOutputIsNotTakenOverByAFile) {
  const TemporaryFolder folder;
  const std::string batch = folder.write("long.yaml", kLong);
  const Outcome outcome = run_shell(in_shell(batch, "--out '" + folder / "out" + "' >&-"));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err, "skyrank: standard output: Bad file descriptor\n");
  EXPECT_THAT(read_file(folder / "out/long.csv"), StartsWith("row,c0,c1\n"));
  EXPECT_THAT(read_file(folder / "out/long.csv"), Not(HasSubstr("rows from")));
}

/// Sends a signal once, when the output holds `text`.
std::function<void(pid_t, const Outcome&)> signal_at(const std::string& text, int number) {
  return [text, number, sent = false](pid_t process, const Outcome& outcome) mutable {
    if (sent || outcome.out.find(text) == std::string::npos) return;
    kill(process, number);
    sent = true;
  };
}

TEST(Robustness, ASignalCancelsARunningQuery) {
  const TemporaryFolder folder;
  const std::string batch = folder.write("slow.yaml", kSlow);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    ProgramOptions options;
    options.terminal = true;
    options.while_it_runs = signal_at("running slow", number);
    const Outcome outcome = run_skyrank({"run", batch, "--out", folder / "out"}, options);
    EXPECT_EQ(outcome.status, 128 + number);
    EXPECT_THAT(outcome.out, HasSubstr("cancelled"));
    EXPECT_TRUE(std::filesystem::is_empty(folder / "out"));
  }
}

TEST(Robustness, ASignalAtAnyTimeLeavesNothingHalfWritten) {
  const TemporaryFolder folder;
  const std::string batch = folder.write("slow.yaml", kSlow);
  for (const int milliseconds : {20, 60, 150, 400}) {
    ProgramOptions options;
    options.while_it_runs = [milliseconds, sent = false](pid_t process, const Outcome&) mutable {
      if (sent) return;
      usleep(static_cast<useconds_t>(milliseconds) * 1000);
      kill(process, SIGINT);
      sent = true;
    };
    const Outcome outcome = run_skyrank({"run", batch, "--json", "--out", folder / "out"}, options);
    // Before the program has taken the signal over, it simply ends.
    EXPECT_TRUE(outcome.status == 128 + SIGINT || outcome.signal == SIGINT) << outcome.status;
    if (outcome.signal == 0) {
      EXPECT_THAT(outcome.err, HasSubstr("cancelled\n"));
    }
    EXPECT_TRUE(!std::filesystem::exists(folder / "out") || std::filesystem::is_empty(folder / "out"));
  }
}

TEST(Robustness, ACancelledRunStillPrintsWholeJson) {
  const TemporaryFolder folder;
  const std::string batch = folder.write("slow.yaml", kSlow);
  ProgramOptions options;
  options.terminal = true;
  options.environment = {"TERM=dumb"};
  options.while_it_runs = signal_at("running slow", SIGINT);
  // Only standard error is the terminal's.
  const Outcome outcome = run_program(
      "bash", {"-c", "exec '" + skyrank_program() + "' run '" + batch + "' --json > '" + folder / "answer" + "'"},
      options);
  EXPECT_EQ(outcome.status, 130);
  const Json document = Json::parse(read_file(folder / "answer"));
  EXPECT_EQ(document["queries"][0]["error"]["kind"], "cancelled");
}

TEST(Robustness, ATimeLimitEndsOneQueryAndNotTheOthers) {
  const TemporaryFolder folder;
  const std::string batch = folder.write("slow.yaml", std::string(kSlow) +
                                                          "  - {name: quick, from: points, rank_by: {low: c0}, limit: "
                                                          "1, select: [c0 < 1]}\n");
  const Outcome outcome = run_skyrank({"run", batch, "--timeout", "200ms", "--json"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err, "skyrank: " + batch +
                             ":5:5: the query 'slow' took longer than its time limit of 200 ms, and was at: skyline\n");
  const Json document = Json::parse(outcome.out);
  EXPECT_EQ(document["queries"][0]["error"]["kind"], "timeout");
  EXPECT_EQ(document["queries"][1]["row_count"], 1);
  const std::string limited = folder.write("limited.yaml", "timeout: 0.2\n" + read_file(batch));
  EXPECT_EQ(run_skyrank({"run", limited}).err,
            "skyrank: " + limited +
                ":6:5: the query 'slow' took longer than its time limit of 200 ms, and was at: skyline\n");
}

TEST(Robustness, ProgressAndColoursAreForTerminalsOnly) {
  const TemporaryFolder folder;
  const std::string slow = folder.write("slow.yaml", kSlow);
  const std::string quick = folder.write("quick.yaml", kLong);
  const std::vector<std::string> arguments = {"run", quick, "--set", "points.generate.rows=3"};
  ProgramOptions terminal;
  terminal.terminal = true;
  terminal.environment = {"TERM=xterm", "NO_COLOR="};
  EXPECT_THAT(run_skyrank(arguments, terminal).out, HasSubstr("\x1b[1mlong\x1b[0m\r\n"));
  EXPECT_THAT(run_skyrank({"run", folder / "none.yaml"}, terminal).out, StartsWith("\x1b[1;31mskyrank:\x1b[0m "));
  for (const std::string variable : {"NO_COLOR=1", "TERM=dumb"}) {
    terminal.environment = {"TERM=xterm", variable};
    EXPECT_THAT(run_skyrank(arguments, terminal).out, Not(HasSubstr("\x1b[1m"))) << variable;
  }
  const Outcome piped = run_skyrank(arguments);
  EXPECT_THAT(piped.out, Not(HasSubstr("\x1b")));
  EXPECT_EQ(piped.err, "");
  ProgramOptions background;
  background.while_it_runs = [sent = false](pid_t process, const Outcome&) mutable {
    if (sent) return;
    usleep(1'500'000);
    kill(process, SIGTERM);
    sent = true;
  };
  EXPECT_THAT(run_skyrank({"run", slow}, background).err, MatchesRegex("skyrank: [^\n\x1b]*cancelled\n"));
}

TEST(Robustness, TextFromStrangersIsLimited) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& content) {
    const Outcome outcome = run_skyrank({"check", folder.write("batch.yaml", content)});
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    return outcome.err;
  };
  const std::string head = "version: 1\ntables: {t: {file: t.csv}}\nqueries:\n  - {name: q, from: t, where: ";
  EXPECT_THAT(refused(head + "\"" + std::string(2 << 20, 'x') + "\"}\n"), HasSubstr("longer than 1048576 bytes"));
  EXPECT_THAT(refused(std::string(17 << 20, '#')), HasSubstr("longer than 16777216 bytes"));
  EXPECT_THAT(refused(std::string(100000, '[')), HasSubstr("nested more than 64 levels deep"));
  EXPECT_THAT(refused(std::string(100000, '{')), HasSubstr("nested more than 64 levels deep"));
  EXPECT_THAT(refused(head + std::string(100000, '-') + "1}\n"), HasSubstr("nested more than"));
  EXPECT_THAT(refused(head + std::string(100000, '(') + "}\n"), HasSubstr("nested more than"));
  std::string many = "version: 1\ntables: [";
  for (int i = 0; i < 1'100'000; ++i) many += "1,";
  EXPECT_THAT(refused(many + "]\n"), HasSubstr("more than 1000000"));
  EXPECT_THAT(refused(std::string("version: 1\0\n", 12)), HasSubstr("control character 0"));
}

TEST(Robustness, ALineOfTenMegabytesIsReadOrRefusedWithItsPlace) {
  const TemporaryFolder folder;
  folder.write("t.csv", "a,b\n1," + std::string(10 << 20, 'x') + "\n2,y\n");
  const std::string batch = folder.write(
      "batch.yaml",
      "version: 1\ntables: {t: {file: t.csv}}\nqueries:\n  - {name: q, from: t, rank_by: {high: a}, limit: 1}\n");
  const Outcome outcome = run_skyrank({"run", batch, "--format", "csv"});
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out, "row,a,b\n1,2,y\n");
}

}  // namespace
}  // namespace skyrank::testing
