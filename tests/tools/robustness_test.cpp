#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <iterator>
#include <regex>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "tests/build.hpp"
#include "tests/tools/program.hpp"

// Full disks, closed pipes, signals, terminals.
namespace skyrank::testing {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Lt;
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

/// Small tables, a batch over each of them, a profile's measurements, and an empty folder for outputs.
class Workplace {
 public:
  Workplace() {
    for (const std::string format : {"csv", "parquet", "arrow"}) {
      const Outcome made = run_skyrank({"generate", "--distribution", "uniform", "--rows", "2000", "--dims", "2",
                                        "--out", folder_ / ("points." + format)});
      if (made.status != 0) throw std::runtime_error(made.err);
      folder_.write(format + ".yaml",
                    "version: 1\ntables: {points: {file: points." + format +
                        "}}\nqueries:\n  - {name: best, from: points, rank_by: {low: c0}, limit: 3}\n");
    }
    std::filesystem::create_directory(out());
  }

  std::string batch(const std::string& format) const { return folder_ / (format + ".yaml"); }
  std::string out() const { return folder_ / "out"; }
  bool out_is_empty() const { return std::filesystem::is_empty(out()); }
  /// Commands that print, and need no more than this folder.
  std::vector<std::string> printing() const {
    return {"run '" + batch("csv") + "'",
            "run '" + batch("parquet") + "' --json",
            "run '" + batch("arrow") + "' --format csv",
            "check '" + batch("csv") + "'",
            "check '" + batch("csv") + "' --json",
            "explain '" + batch("parquet") + "'",
            "explain '" + batch("parquet") + "' --json",
            "algorithms",
            "algorithms --json",
            "--version",
            "--help"};
  }

 private:
  TemporaryFolder folder_;
};

TEST(Robustness, AFullDiskIsReportedByEveryCommand) {
  const Workplace place;
  for (const std::string& command : place.printing()) {
    const Outcome outcome = run_shell("'" + skyrank_program() + "' " + command + " > /dev/full");
    EXPECT_EQ(outcome.status, 1) << command;
    EXPECT_EQ(outcome.err, "skyrank: standard output: No space left on device\n") << command;
  }
}

TEST(Robustness, AFullDiskBelowMessagesChangesNoStatus) {
  const Workplace place;
  for (const std::string& command : place.printing()) {
    EXPECT_EQ(run_shell("'" + skyrank_program() + "' " + command + " 2> /dev/full").status, 0) << command;
  }
  EXPECT_EQ(run_shell("'" + skyrank_program() + "' run none.yaml 2> /dev/full").status, 2);
}

TEST(Robustness, ClosedStandardDescriptors) {
  const Workplace place;
  for (const std::string& command : place.printing()) {
    const std::string run = "'" + skyrank_program() + "' " + command;
    const Outcome good = run_shell(run);
    ASSERT_EQ(good.status, 0) << command;
    for (const std::string closed : {" <&-", " 2>&-", " <&- 2>&-"}) {
      const Outcome outcome = run_shell(run + closed);
      EXPECT_EQ(outcome.status, 0) << command << closed;
      EXPECT_FALSE(outcome.out.empty()) << command << closed;
      EXPECT_EQ(outcome.err, "") << command << closed;
    }
    for (const std::string closed : {" >&-", " <&- >&-"}) {
      const Outcome outcome = run_shell(run + closed);
      EXPECT_EQ(outcome.status, 1) << command << closed;
      EXPECT_EQ(outcome.err, "skyrank: standard output: Bad file descriptor\n") << command << closed;
    }
    const Outcome none = run_shell(run + " <&- >&- 2>&-");
    EXPECT_EQ(none.status, 1) << command;
  }
}

TEST(Robustness, FewFileDescriptorsAreEnoughOrReported) {
  if (tests::kSanitized) {
    // It asks the kernel through a pipe whether memory can be read, and takes a pipe that fails for a wrong pointer.
    GTEST_SKIP() << "the sanitizer needs file descriptors of its own";
  }
  const Workplace place;
  for (const rlim_t descriptors : {8, 5, 4}) {
    ProgramOptions limited;
    limited.in_child = [descriptors] {
      const rlimit limit = {descriptors, descriptors};
      setrlimit(RLIMIT_NOFILE, &limit);
    };
    for (const std::string format : {"csv", "parquet", "arrow"}) {
      const std::string file = place.out() + "/best." + format;
      const Outcome outcome =
          run_skyrank({"run", place.batch(format), "--out", place.out(), "--format", format}, limited);
      EXPECT_EQ(outcome.signal, 0) << format << descriptors;
      EXPECT_TRUE(descriptors < 8 || outcome.status == 0) << outcome.err;
      if (outcome.status == 0) {
        EXPECT_GT(std::filesystem::file_size(file), 0U);
        std::filesystem::remove(file);
      } else if (outcome.status != 127) {  // the loader's, where there is no descriptor for a library
        EXPECT_EQ(outcome.status, 1);
        EXPECT_THAT(outcome.err, StartsWith("skyrank: "));
      }
      EXPECT_TRUE(place.out_is_empty()) << format << descriptors;
    }
  }
}

TEST(Robustness, FoldersForTemporaryFilesAndCachesNeedNotExist) {
  const Workplace place;
  for (const std::string variable : {"TMPDIR", "XDG_CACHE_HOME", "HOME"}) {
    for (const std::string folder : {"/dev/null/none", "/proc/none"}) {
      ProgramOptions options;
      options.environment = {variable + "=" + folder};
      for (const std::string format : {"csv", "parquet"}) {
        const std::string file = place.out() + "/best." + format;
        const Outcome outcome =
            run_skyrank({"run", place.batch("csv"), "--out", place.out(), "--format", format}, options);
        EXPECT_EQ(outcome.status, 0) << variable << folder << outcome.err;
        EXPECT_EQ(outcome.err, "") << variable << folder;
        EXPECT_TRUE(std::filesystem::remove(file));
      }
      EXPECT_EQ(run_skyrank({"check", place.batch("csv")}, options).status, 0) << variable << folder;
    }
  }
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
  const std::string file = folder.write("answers", "");
  const Outcome is_file = run_skyrank({"run", batch, "--out", file});
  EXPECT_EQ(is_file.status, 2);
  EXPECT_EQ(is_file.err, "skyrank: --out " + file + ": is a file, not a folder\n");
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
  const Outcome outcome = run_skyrank({"run", batch, "--timeout", "500ms", "--json"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err,
              StartsWith("skyrank: " + batch +
                         ":5:5: the query 'slow' took longer than its time limit of 500 ms, and was at: "));
  const Json document = Json::parse(outcome.out);
  EXPECT_EQ(document["queries"][0]["error"]["kind"], "timeout");
  EXPECT_EQ(document["queries"][1]["row_count"], 1);
  const std::string limited = folder.write("limited.yaml", "timeout: 0.5\n" + read_file(batch));
  EXPECT_THAT(run_skyrank({"run", limited}).err,
              StartsWith("skyrank: " + limited +
                         ":6:5: the query 'slow' took longer than its time limit of 500 ms, and was at: "));
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

/// Shares of the work, in percent, that a terminal showed for `what`.
std::vector<int> shown_shares(const std::string& output, const std::string& what) {
  std::vector<int> shares;
  const std::regex status(what + "  ([0-9]+) %  [0-9.]+ s");
  for (std::sregex_iterator shown(output.begin(), output.end(), status), end; shown != end; ++shown) {
    shares.push_back(std::stoi((*shown)[1]));
  }
  return shares;
}

/// Runs a query on a terminal over so many rows of times, which are read twice beside truths.
Outcome read_times(const TemporaryFolder& folder, int rows) {
  std::string text = "a,b,c,d\n";
  for (int i = 0; i < rows; ++i) text += "12:30:01,12:30:02,true,7\n";
  folder.write("t.csv", text);
  const std::string batch = folder.write(
      "batch.yaml",
      "version: 1\ntables: {t: {file: t.csv}}\nqueries:\n  - {name: q, from: t, rank_by: {low: d}, limit: 1}\n");
  ProgramOptions terminal;
  terminal.terminal = true;
  return run_skyrank({"run", batch, "--threads", "1"}, terminal);
}

TEST(Robustness, ProgressOfReadingFollowsTheWork) {
  const TemporaryFolder folder;
  Outcome outcome;
  std::vector<int> shares;
  auto fall = shares.end();
  // Nothing is shown in the first half second. The faster the machine, the more rows show both readings.
  constexpr int kMaxRows = 20'000'000;
  constexpr std::size_t kEnough = 5;
  for (int rows = 5'000'000; rows <= kMaxRows && (fall == shares.end() || shares.size() < kEnough); rows *= 2) {
    outcome = read_times(folder, rows);
    EXPECT_EQ(outcome.status, 0);
    shares = shown_shares(outcome.out, "reading t");
    fall = std::ranges::adjacent_find(shares, std::greater<>());
  }
  // The share falls once, where it turns out that the text is to be read again, and then goes on. It says 100 % while
  // what was read is put together, not while it is read.
  ASSERT_NE(fall, shares.end()) << outcome.out;
  EXPECT_THAT(*std::next(fall), AllOf(Ge(50), Lt(100))) << outcome.out;
  EXPECT_TRUE(std::is_sorted(std::next(fall), shares.end())) << outcome.out;
  EXPECT_LT(std::ranges::count(shares, 100), static_cast<std::ptrdiff_t>(shares.size()) / 2) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("\r\x1b[K"));
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
  EXPECT_THAT(refused(std::string(100000, '[')), HasSubstr("nested more than 100 levels deep"));
  EXPECT_THAT(refused(std::string(100000, '{')), HasSubstr("nested more than 100 levels deep"));
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
