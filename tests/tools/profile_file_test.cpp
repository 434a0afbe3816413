#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/tools/program.hpp"

// The profile in the user's cache folder: what is wrong with it keeps nobody from an answer, and making one anew never
// leaves a damaged one behind.
namespace skyrank::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kBatch = R"(version: 1
tables: {points: {generate: {distribution: uniform, rows: 10, dims: 2, seed: 1}}}
queries: [{name: q, from: points, rank_by: {low: c0}, limit: 3}]
)";

/// Input that `calibrate --from` takes in place of minutes of measuring.
constexpr const char* kRuns =
    "bnl,correlated float32 1,300,2,,4,,,0,2,64,1,1,0,0.5,0,64,1.28018,-0.0039128,0.015625,0.72793,4.033e-06,2.194e-06,"
    ",0.5,0,0\n";

class ProfileOfTheUser : public ::testing::Test {
 protected:
  ProfileOfTheUser() {
    std::filesystem::create_directories(folder_.path() / "cache/skyrank");
    options_.environment = {"XDG_CACHE_HOME=" + folder_ / "cache"};
  }

  std::string written(const std::string& text) const { return folder_.write("cache/skyrank/profile.yaml", text); }

  /// Runs every command that plans; returns what they say on standard error, which is the same for all.
  std::string warning_with(const std::string& profile) const {
    const std::string file = written(profile);
    const std::string batch = folder_.write("batch.yaml", kBatch);
    std::string said;
    for (const std::string command : {"run", "check", "explain"}) {
      const Outcome outcome = run_skyrank({command, batch}, options_);
      EXPECT_EQ(outcome.status, 0) << command << outcome.err;
      EXPECT_NE(outcome.out, "") << command;
      EXPECT_THAT(outcome.err, StartsWith("skyrank: warning: " + file + ":")) << command;
      EXPECT_THAT(outcome.err, HasSubstr("; planning with built-in prices\n")) << command;
      EXPECT_TRUE(said.empty() || said == outcome.err) << said << outcome.err;
      said = outcome.err;
    }
    return said;
  }

  const TemporaryFolder folder_;
  ProgramOptions options_;
};

TEST_F(ProfileOfTheUser, ThatIsEmpty) { EXPECT_THAT(warning_with(""), HasSubstr("the profile is empty")); }

TEST_F(ProfileOfTheUser, ThatIsCutShort) {
  EXPECT_THAT(warning_with("version: 3\ncpu: \"A CPU\"\ncores: 2\nseconds:\n  sfs:\n    sta"),
              HasSubstr("the profile is cut short"));
}

TEST_F(ProfileOfTheUser, ThatIsDamaged) {
  EXPECT_THAT(warning_with("version: 3\ncpu: {{{\n"), HasSubstr("profile.yaml: yaml-cpp: error"));
  EXPECT_THAT(warning_with(std::string(5000, '\0')), HasSubstr("profile.yaml: "));
  EXPECT_THAT(warning_with("version: 1\n"), HasSubstr("not a profile of version 3"));
}

TEST_F(ProfileOfTheUser, OfAnotherMachine) {
  EXPECT_THAT(warning_with("version: 3\ncpu: \"No such CPU\"\ncores: 2\ngpu: \"\"\n"),
              HasSubstr("of a machine with CPU 'No such CPU'"));
}

TEST_F(ProfileOfTheUser, ThatIsAFolder) {
  std::filesystem::create_directory(folder_.path() / "cache/skyrank/profile.yaml");
  const Outcome outcome = run_skyrank({"run", folder_.write("batch.yaml", kBatch)}, options_);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("profile.yaml: cannot be read: Is a directory; planning with built-in prices\n"));
}

TEST_F(ProfileOfTheUser, IsNotLookedForWithoutAHome) {
  options_.environment = {"XDG_CACHE_HOME="};
  options_.in_child = [] { unsetenv("HOME"); };
  const Outcome outcome = run_skyrank({"run", folder_.write("batch.yaml", kBatch)}, options_);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
  const Outcome calibration = run_skyrank({"calibrate"}, options_);
  EXPECT_EQ(calibration.status, 2);
  EXPECT_THAT(calibration.err, HasSubstr("say --out FILE"));
}

TEST_F(ProfileOfTheUser, StaysAsItIsOnAFullDisk) {
  const std::string file = written("old\n");
  const std::string runs = folder_.write("runs.csv", kRuns);
  options_.in_child = [] {
    const rlimit limit{16, 16};
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  const Outcome outcome = run_skyrank({"calibrate", "--device", "cpu", "--from", runs}, options_);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err, "skyrank: " + file + ": cannot be written: File too large\n");
  EXPECT_EQ(read_file(file), "old\n");
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / "cache/skyrank")) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, ElementsAre("profile.yaml"));
}

TEST_F(ProfileOfTheUser, IsWrittenWhole) {
  const std::string runs = folder_.write("runs.csv", kRuns);
  std::filesystem::remove_all(folder_.path() / "cache");
  const Outcome outcome = run_skyrank({"calibrate", "--device", "cpu", "--from", runs}, options_);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const Outcome run = run_skyrank({"run", folder_.write("batch.yaml", kBatch)}, options_);
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "");
}

constexpr const char* kQueries = R"(version: 1
tables: {points: {generate: {distribution: anticorrelated, rows: 20000, dims: 4, seed: 1}}}
queries:
  - {name: best, from: points, rank_by: [{low: c0}, {high: c1}], limit: 10}
  - {name: front, from: points, prefer: [{low: c0}, {low: c1}, {low: c2}, {low: c3}]}
  - {name: parts, from: points, rank_by: {low: c0}, limit: 1, partition_by: [c1 > 0.5]}
)";

TEST_F(ProfileOfTheUser, IsFittedToQueries) {
  const std::string batch = folder_.write("batch.yaml", kQueries);
  const std::string runs = folder_ / "runs.csv";
  const Outcome outcome = run_skyrank({"calibrate", "--learn", batch, "--runs", runs}, options_);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("predicted over measured"));
  EXPECT_THAT(outcome.out, HasSubstr("time of the choices over the best, 2 problems: "));
  const std::string measured = read_file(runs);
  for (const std::string algorithm : {"sampled-threshold", "nth-element"}) {
    EXPECT_THAT(measured, HasSubstr("\n" + algorithm + ",best,20000,1,10,")) << algorithm;
  }
  EXPECT_THAT(measured, HasSubstr("\nblocked-bitmap,front,20000,4,"));
  EXPECT_THAT(measured, Not(HasSubstr(",parts,")));

  // Prices of algorithms that were not measured stay as they are built in, and the next queries plan by all of them.
  EXPECT_THAT(read_file(folder_ / "cache/skyrank/profile.yaml"), HasSubstr("sfs:"));
  EXPECT_EQ(run_skyrank({"run", batch}, options_).err, "");
  const Outcome again = run_skyrank({"calibrate", "--from", runs, "--device", "cpu"}, options_);
  EXPECT_EQ(again.status, 0) << again.err;
}

TEST_F(ProfileOfTheUser, IsNotMadeOfQueriesThatTellNothing) {
  const std::string old = written("old\n");
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& message) {
    std::vector<std::string> words = {"calibrate", "--quiet"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const Outcome outcome = run_skyrank(words, options_);
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_EQ(read_file(old), "old\n");
  };
  const std::string groups = folder_.write("groups.yaml", R"(version: 1
tables: {points: {generate: {distribution: uniform, rows: 100, dims: 2, seed: 1}}}
queries: [{name: g, from: points, group_by: [c0 > 0.5], aggregate: {n: count()}}]
)");
  refused({"--learn", groups}, groups + ": nothing to learn from: ");
  refused({"--learn", folder_ / "none.yaml"}, "none.yaml: no such file");
  refused({"--learn", groups, "--from", groups}, "--from excludes --learn");
  refused({"--learn", groups, "--device", "cuda"}, "--learn measures algorithms of the CPU");
}

TEST_F(ProfileOfTheUser, CannotBeMadeWhereNoFolderCanBe) {
  options_.environment = {"XDG_CACHE_HOME=/proc/none"};
  const std::string runs = folder_.write("runs.csv", kRuns);
  const Outcome outcome = run_skyrank({"calibrate", "--device", "cpu", "--from", runs}, options_);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, StartsWith("skyrank: /proc/none/skyrank/profile.yaml: its folder cannot be made: "));
  EXPECT_EQ(run_skyrank({"run", folder_.write("batch.yaml", kBatch)}, options_).err, "");
}

}  // namespace
}  // namespace skyrank::testing
