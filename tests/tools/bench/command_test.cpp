#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <sstream>

#include "tests/tools/program.hpp"
#include "tools/bench/csv.hpp"

// `skyrank bench` as its users run it.
namespace skyrank::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kGrid = R"(version: 1
cells:
  - {op: skyline, distribution: anticorrelated, n: 400, d: [2, 3], threads: 1, repeats: 1}
  - {op: top-k, distribution: uniform, n: 2000, k: [1, n/10], threads: [1, 2], repeats: 1}
)";

class BenchCommand : public ::testing::Test {
 protected:
  BenchCommand() : grid_(folder_.write("grid.yaml", kGrid)) {}

  std::vector<std::string> lines_of(const std::string& file) const {
    std::istringstream text(read_file(file));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }

  TemporaryFolder folder_;
  std::string grid_;
};

TEST_F(BenchCommand, MeasuresChecksAndWritesFigures) {
  const std::string csv = folder_ / "figures.csv";
  const Outcome outcome = run_skyrank({"bench", grid_, "--out", csv, "--commit", "abc123"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, StartsWith("skyline  anticorrelated  n 400  d 2  float32  1 thread\n  algorithm "));
  EXPECT_THAT(outcome.out, HasSubstr("\ntop-k  uniform  n 2,000  d 1  k 200  ties first  float32  2 threads\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\ntop-k: over all cells, geometric means\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("WRONG")));
  const std::vector<std::string> lines = lines_of(csv);
  ASSERT_GT(lines.size(), 6U);
  EXPECT_EQ(lines.front() + "\n", bench::csv_header());
  for (std::size_t i = 1; i < lines.size(); ++i) {
    EXPECT_THAT(lines[i], StartsWith("grid,"));
    EXPECT_THAT(lines[i], ContainsRegex(",yes,abc123,.+"));
  }
}

TEST_F(BenchCommand, VariesParametersAndReadsFiles) {
  folder_.write("scores.csv", "name,score\na,4\nb,9\nc,2.5\n");
  const std::string grid = folder_.write(
      "more.yaml",
      "version: 1\ncells:\n"
      "  - {op: skyline, distribution: independent, n: 100, d: 2, threads: 1, repeats: 1, algorithms: sfs, parameters: "
      "{block: [3, 4]}}\n"
      "  - {op: top-k, file: scores.csv, columns: score, order: high, n: 100, k: 40, threads: 1, repeats: 1, "
      "algorithms: "
      "heap}\n");
  const std::string csv = folder_ / "figures.csv";
  const Outcome outcome = run_skyrank({"bench", grid, "--out", csv});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("top-k  scores.csv  n 100  d 1  k 40  ties first  1 thread\n"));
  const std::vector<std::string> lines = lines_of(csv);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[1], StartsWith("more,sfs,cpu,skyline,float32,row id,independent,100,2,,1,block=3,"));
  EXPECT_THAT(lines[2], StartsWith("more,sfs,cpu,skyline,float32,row id,independent,100,2,,1,block=4,"));
  EXPECT_THAT(lines[3], StartsWith("more,heap,cpu,top-k,of the file,row id,scores.csv,100,1,40,1,,"));
  folder_.write("scores.csv", "name,score\na,x\n");
  EXPECT_EQ(run_skyrank({"bench", grid, "--out", csv}).err,
            "skyrank: " + folder_ / "scores.csv" + ": column 'score' has no numbers; a cell needs numbers\n");
}

TEST_F(BenchCommand, ListsWithoutMeasuring) {
  const Outcome outcome = run_skyrank({"bench", grid_, "--list", "--algorithms", "sort", "--threads", "1"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out,
            "top-k  uniform  n 2,000  d 1  k 1  ties first  float32  1 thread: sort\n"
            "top-k  uniform  n 2,000  d 1  k 200  ties first  float32  1 thread: sort\n");
}

TEST_F(BenchCommand, NotesTheCommitItWasBuiltFrom) {
  const std::string csv = folder_ / "figures.csv";
  EXPECT_EQ(run_skyrank({"bench", grid_, "--out", csv, "--algorithms", "sort"}).status, 0);
  const std::string version = run_skyrank({"--version"}).out;
  const std::size_t begin = version.find("(commit ");
  if (begin == std::string::npos) GTEST_SKIP() << "built without git";
  const std::string commit = version.substr(begin + 8, version.find(')') - begin - 8);
  EXPECT_THAT(lines_of(csv).back(), HasSubstr(",yes," + commit + ","));
}

TEST_F(BenchCommand, ReportsWhatItLeavesOut) {
  const std::string slow = folder_.write(
      "slow.yaml",
      "version: 1\ncells: [{op: skyline, distribution: anticorrelated, n: 3000, d: 8, budget_s: 0.000001}]");
  const Outcome outcome = run_skyrank({"bench", slow, "--algorithms", "bnl"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("  bnl left out: took more than 1e-06 s\n"));
}

TEST_F(BenchCommand, SaysWhereAGridIsWrong) {
  const std::string wrong =
      folder_.write("wrong.yaml", "version: 1\ncells:\n  - {op: skyline, distrbution: uniform}\n");
  const Outcome outcome = run_skyrank({"bench", wrong});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, StartsWith("skyrank: " + wrong +
                                      ":3:19: a cell has no key 'distrbution'; did you mean 'distribution'?\n"));
  EXPECT_EQ(outcome.out, "");
}

TEST_F(BenchCommand, RefusesWhatMakesNoSense) {
  const auto error = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"bench", grid_};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Outcome outcome = run_skyrank(arguments);
    EXPECT_EQ(outcome.status, 2);
    return outcome.err;
  };
  EXPECT_THAT(error({"--algorithms", "srot"}),
              StartsWith("skyrank: --algorithms: there is no algorithm 'srot'; did you mean 'sort'?; there are "));
  EXPECT_EQ(error({"--repeat", "0"}), "skyrank: --repeat: 0 is not between 1 and 10000\n");
  EXPECT_EQ(error({"--threads", "1,2000"}), "skyrank: --threads: 2000 is not between 0 (all cores) and 1024\n");
  EXPECT_THAT(error({"--threads", "1,two"}), HasSubstr("--threads"));
  const std::string skylines =
      folder_.write("skylines.yaml", "version: 1\ncells: [{op: skyline, distribution: uniform, n: 9, d: 2}]");
  EXPECT_EQ(run_skyrank({"bench", skylines, "--algorithms", "sort"}).err,
            "skyrank: --algorithms: none of these is for a cell of the grid\n");
  const Outcome missing = run_skyrank({"bench", folder_ / "none.yaml"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_EQ(missing.err, "skyrank: " + folder_ / "none.yaml" + ": no such file\n");
  EXPECT_EQ(run_skyrank({"bench", folder_.path().string()}).err,
            "skyrank: " + folder_.path().string() + ": is a folder; a grid is a YAML file\n");
}

TEST_F(BenchCommand, KeepsFinishedCellsWhenInterrupted) {
  const std::string csv = folder_ / "figures.csv";
  const std::string grid = folder_.write(
      "long.yaml",
      "version: 1\ncells:\n"
      "  - {op: skyline, distribution: independent, n: 100, d: 2, repeats: 1, algorithms: bnl}\n"
      "  - {op: skyline, distribution: anticorrelated, n: 100000, d: 12, budget_s: 1000, algorithms: bnl}\n");
  ProgramOptions interrupted;
  interrupted.while_it_runs = [sent = false](pid_t process, const Outcome& outcome) mutable {
    if (sent || outcome.out.find("n 100 ") == std::string::npos) return;
    kill(process, SIGINT);
    sent = true;
  };
  const Outcome outcome = run_skyrank({"bench", grid, "--out", csv}, interrupted);
  EXPECT_EQ(outcome.status, 128 + SIGINT);
  EXPECT_THAT(outcome.err, HasSubstr("skyrank: cancelled"));
  EXPECT_THAT(lines_of(csv).back(), StartsWith("long,bnl,cpu,skyline,float32,row id,independent,100,2,"));
  EXPECT_THAT(folder_.names(), ::testing::UnorderedElementsAre("figures.csv", "grid.yaml", "long.yaml"));
}

TEST_F(BenchCommand, TheSmokeGridRuns) {
  const Outcome outcome = run_skyrank({"bench", std::string(SKYRANK_SOURCE_DIR) + "/tools/bench/grids/smoke.yaml"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(BenchCommand, EveryGridOfTheProjectIsRead) {
  int grids = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(SKYRANK_SOURCE_DIR) + "/tools/bench/grids")) {
    const Outcome outcome = run_skyrank({"bench", entry.path().string(), "--list"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    ++grids;
  }
  EXPECT_GE(grids, 3);
}

}  // namespace
}  // namespace skyrank::testing
