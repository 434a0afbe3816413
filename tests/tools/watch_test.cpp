#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/tools/program.hpp"

// Tests `skyrank watch`: rows that come through pipes and in files that grow, changes, saved states and signals.
namespace skyrank::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using namespace std::chrono_literals;

constexpr const char* kRows = R"({"name":"a","price":3.5,"day":"2026-05-01"}
{"name":"b","price":2,"day":"2026-05-02"}
{"price":9,"name":"c","day":"2026-05-03","more":[1]}
{"name":"d","price":1,"day":"2026-05-09"}
)";
constexpr const char* kBatch = R"(version: 1
tables:
  offers: {file: "-", types: {name: string, price: float64, day: date}}
queries:
  - {name: best, from: offers, rank_by: {low: price}, limit: 2, select: [name, price]}
  - {name: names, from: offers, group_by: [name], aggregate: {n: count()},
     rank_by: {high: n}, limit: 9, select: [name, n]}
)";
const std::vector<std::string> kChanges = {
    R"({"next_id":1,"entered":[{"id":0,"values":{"name":"a","price":3.5}}],"left":[]})",
    R"({"next_id":2,"entered":[{"id":1,"values":{"name":"b","price":2}}],"left":[]})",
    R"({"next_id":4,"entered":[{"id":3,"values":{"name":"d","price":1}}],"left":[0]})"};

std::string lines(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& line : all) text += line + "\n";
  return text;
}

class Watch : public ::testing::Test {
 protected:
  Watch() {
    batch_ = folder_.write("batch.yaml", kBatch);
    rows_ = folder_.write("rows.jsonl", kRows);
    state_ = folder_ / "best.standing";
  }

  std::vector<std::string> words(std::vector<std::string> more, const std::string& query = "best") const {
    more.insert(more.begin(), {"watch", batch_, "--query", query});
    return more;
  }

  Outcome watch(const std::vector<std::string>& more, const std::string& query = "best") const {
    return run_skyrank(words(more, query));
  }

  /// Runs the program at the end of a pipe, or with one behind it.
  Outcome shell(const std::string& before, const std::vector<std::string>& more, const std::string& behind = "") const {
    std::string command = before + " '" + skyrank_program() + "'";
    for (const std::string& word : words(more)) command += " '" + word + "'";
    return run_program("bash", {"-c", "set -o pipefail; " + command + behind});
  }

  void append(const std::string& text) const { std::ofstream(rows_, std::ios::app) << text; }

  void expect_mistake(const std::vector<std::string>& more, const std::string& message) const {
    const Outcome outcome = watch(more);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_EQ(outcome.out, "");
  }

  TemporaryFolder folder_;
  std::string batch_;
  std::string rows_;
  std::string state_;
};

TEST_F(Watch, PrintsChangesOfRowsFromAPipe) {
  const Outcome outcome = shell("cat '" + rows_ + "' |", {"--step", "1"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, lines(kChanges));
  EXPECT_EQ(outcome.err, "");
  const Outcome at_once = watch({"--from", rows_});
  EXPECT_EQ(at_once.out, R"({"next_id":4,"entered":[{"id":1,"values":{"name":"b","price":2}},)"
                         R"({"id":3,"values":{"name":"d","price":1}}],"left":[]})"
                         "\n");
}

TEST_F(Watch, ReadsCsvAsTheTableOfTheBatchSays) {
  const std::string rows =
      folder_.write("rows.csv", "day,price,name\n2026-05-01,3.5,a\n2026-05-02,2,b\n,9,\"c\n,\"\n,1,d\n");
  const Outcome outcome = watch({"--from", rows, "--step", "1"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, lines(kChanges));
  EXPECT_EQ(shell("cat '" + rows + "' |", {"--step", "1", "--format", "csv"}).out, lines(kChanges));
}

TEST_F(Watch, TakesColumnsFromTheFileOfTheTable) {
  const std::string table = folder_.write("known.csv", "name,price,unread\nz,1.5,7\n");
  const Outcome outcome =
      watch({"--set", "offers.file=" + table, "--set", "offers.types=name:string", "--from", rows_, "--step", "1"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, lines(kChanges));
}

TEST_F(Watch, PrintsGroupsThatChange) {
  const std::string rows = folder_.write("groups.jsonl", "{\"name\":\"a\"}\n{\"name\":\"b\"}\n{\"name\":\"a\"}\n");
  const Outcome outcome = watch({"--from", rows, "--step", "1"}, "names");
  EXPECT_EQ(outcome.out, R"({"next_id":1,"entered":[{"id":0,"values":{"name":"a","n":1}}],"left":[]}
{"next_id":2,"entered":[{"id":1,"values":{"name":"b","n":1}}],"left":[]}
{"next_id":3,"entered":[],"changed":[{"id":0,"values":{"name":"a","n":2}}],"left":[]}
)");
}

TEST_F(Watch, KeepsWindows) {
  const Outcome rows = watch({"--from", rows_, "--step", "1", "--last-rows", "1"});
  EXPECT_THAT(rows.out, HasSubstr(R"({"next_id":3,"entered":[{"id":2,"values":{"name":"c","price":9}}],"left":[1]})"));
  const Outcome days = watch({"--from", rows_, "--step", "1", "--last", "3d", "--by", "day"});
  EXPECT_EQ(days.status, 0) << days.err;
  EXPECT_THAT(days.out,
              HasSubstr(R"({"next_id":4,"entered":[{"id":3,"values":{"name":"d","price":1}}],"left":[0,1]})"));
}

TEST_F(Watch, ResumesWhereItWas) {
  const std::vector<std::string> arguments = {"--from", rows_, "--state", state_, "--step", "1"};
  folder_.write("rows.jsonl", std::string(kRows, std::string(kRows).find("{\"price\"")));
  EXPECT_EQ(watch(arguments).out, lines({kChanges[0], kChanges[1]}));
  EXPECT_EQ(watch(arguments).out, "");
  folder_.write("rows.jsonl", kRows);
  EXPECT_EQ(watch(arguments).out, lines({kChanges[2]}));
  // Rows of a pipe are new ones.
  const Outcome piped = shell("echo '{\"name\":\"e\",\"price\":0}' |", {"--state", state_});
  EXPECT_EQ(piped.out,
            "{\"next_id\":5,\"entered\":[{\"id\":4,\"values\":{\"name\":\"e\",\"price\":0}}],\"left\":[1]}\n");
  const Outcome fewer = watch(arguments);
  EXPECT_EQ(fewer.status, 2);
  EXPECT_THAT(fewer.err, HasSubstr("rows.jsonl: has 4 rows, but 5 were taken from it before"));
  const Outcome other = watch({"--from", rows_, "--state", state_, "--last-rows", "3"});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("was saved with another window"));
  EXPECT_THAT(folder_.names(), ElementsAre("batch.yaml", "best.standing", "rows.jsonl"));
}

TEST_F(Watch, SavesNowAndThen) {
  const std::vector<std::string> arguments = {"--from", rows_, "--state", state_, "--save-every", "2", "--follow"};
  ProgramOptions options;
  options.while_it_runs = [](pid_t process, const Outcome& so_far) {
    if (!so_far.out.empty()) kill(process, SIGKILL);
  };
  EXPECT_EQ(run_skyrank(words(arguments), options).signal, SIGKILL);
  // Saved at the start, and perhaps after the rows: the rows that were not come again.
  const Outcome again = watch({"--from", rows_, "--state", state_});
  EXPECT_EQ(again.status, 0) << again.err;
  expect_mistake({"--save-every", "2"}, "--save-every needs --state FILE");
  expect_mistake({"--state", state_, "--save-every", "often"}, "'often' is no time");
}

TEST_F(Watch, SavesWhileNothingComes) {
  ProgramOptions options;
  options.while_it_runs = [&](pid_t process, const Outcome& so_far) {
    if (so_far.out.empty()) return;
    const std::string before = read_file(state_);
    for (int i = 0; i < 500 && read_file(state_) == before; ++i) std::this_thread::sleep_for(10ms);
    kill(process, SIGKILL);
  };
  const Outcome outcome =
      run_skyrank(words({"--from", rows_, "--state", state_, "--save-every", "300ms", "--follow"}), options);
  EXPECT_EQ(outcome.signal, SIGKILL);
  EXPECT_THAT(outcome.out, HasSubstr("\"next_id\":4"));
  EXPECT_EQ(watch({"--from", rows_, "--state", state_}).out, "");
}

TEST_F(Watch, RefusesFormsThatStreamsDoNotHave) {
  for (const char* const form : {"decimal: ','", "skip: 1", "encoding: utf-16"}) {
    std::string batch = kBatch;
    batch_ = folder_.write("form.yaml", batch.replace(batch.find("types:"), 0, std::string(form) + ", "));
    const Outcome refused = watch({"--from", rows_});
    EXPECT_EQ(refused.status, 2) << form;
    EXPECT_THAT(refused.err, HasSubstr("leave 'decimal', 'skip'")) << form;
  }
}

TEST_F(Watch, EndsAtABadLineBehindTheRowsBeforeIt) {
  append("{\"name\":\"e\",\"price\":0}\n{\"name\":\"f\",\"price\":\"much\"}\n{\"name\":\"g\",\"price\":0}\n");
  const Outcome outcome = watch({"--from", rows_, "--state", state_, "--step", "1"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.out, HasSubstr(R"({"next_id":5,"entered":[{"id":4,)"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\"id\":5")));
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("rows.jsonl:6"), HasSubstr("column 'price'"), HasSubstr("much")));
  folder_.write("rows.jsonl", std::string(kRows) + "{\"name\":\"e\",\"price\":0}\n{\"name\":\"f\",\"price\":-1}\n");
  EXPECT_THAT(watch({"--from", rows_, "--state", state_}).out, StartsWith(R"({"next_id":6,"entered":[{"id":5,)"));
  for (const char* const bad : {"{\"name\":,\n", "[1]\n", "1,2\n", "{\"price\":1} x\n"}) {
    const std::string file = folder_.write("bad.jsonl", std::string("\n") + bad + kRows);
    const Outcome refused = watch({"--from", file});
    EXPECT_EQ(refused.status, 2) << bad;
    EXPECT_THAT(refused.err, HasSubstr("bad.jsonl:2")) << bad;
  }
  const std::string csv = folder_.write("bad.csv", "name,price,day\na,1,\nb,2\n");
  EXPECT_THAT(watch({"--from", csv}).err, HasSubstr("bad.csv:3: expected 3 fields"));
}

TEST_F(Watch, FollowsAFileUntilASignal) {
  for (const int signal : {SIGINT, SIGTERM}) {
    folder_.write("rows.jsonl", kRows);
    std::filesystem::remove(state_);
    int written = 0;
    ProgramOptions options;
    options.while_it_runs = [&](pid_t process, const Outcome& so_far) {
      if (written == 0 && so_far.out.find("\"next_id\":4") != std::string::npos) {
        append("{\"name\":\"e\",");
        append("\"price\":0}\n{\"name\":\"half\"");
        written = 1;
      }
      if (written == 1 && so_far.out.find("\"next_id\":5") != std::string::npos) {
        kill(process, signal);
        written = 2;
      }
    };
    const Outcome outcome = run_skyrank(words({"--from", rows_, "--follow", "--state", state_}), options);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    append(",\"price\":-1}\n");
    EXPECT_THAT(watch({"--from", rows_, "--state", state_}).out, StartsWith(R"({"next_id":6,"entered":[{"id":5,)"));
  }
}

TEST_F(Watch, EndsWhereNobodyReads) {
  // The other rows come when the first change has been read, and the reader is gone.
  const std::string is_read = (folder_.path() / "is_read").string();
  const std::string slowly = "(head -n 1 '" + rows_ + "'; until [ -e '" + is_read +
                             "' ]; do sleep 0.05; done; sleep 0.5; tail -n +2 '" + rows_ + "') |";
  const Outcome outcome = shell(slowly, {"--step", "1", "--state", state_}, " | (head -n 1; touch '" + is_read + "')");
  EXPECT_EQ(outcome.out, kChanges[0] + "\n");
  EXPECT_EQ(outcome.err, "");
  EXPECT_NE(outcome.status, 0);
  // Nothing was saved, so that all changes come again.
  EXPECT_EQ(watch({"--from", rows_, "--step", "1", "--state", state_}).out, lines(kChanges));
}

TEST_F(Watch, ShowsTables) {
  const Outcome outcome = watch({"--from", rows_, "--step", "2", "--show", "table"});
  EXPECT_EQ(outcome.out, R"(best
name  price
----  -----
b         2
a       3.5
2 rows from 2 so far

best
name  price
----  -----
d         1
b         2
2 rows from 4 so far

)");
  ProgramOptions terminal;
  terminal.terminal = true;
  terminal.environment = {"TERM=xterm"};
  const std::string shown = run_skyrank(words({"--from", rows_, "--step", "2"}), terminal).out;
  EXPECT_THAT(shown, AllOf(StartsWith("\x1b[H\x1b[2J"), HasSubstr("2 rows from 4 so far")));
  EXPECT_THAT(run_skyrank(words({"--from", rows_, "--show", "changes"}), terminal).out, StartsWith("{\"next_id\":4"));
}

TEST_F(Watch, RefusesWhatMakesNoSense) {
  const Outcome both = run_skyrank({"watch", batch_});
  EXPECT_EQ(both.status, 2);
  EXPECT_THAT(both.err, HasSubstr("the batch has 2 queries, and watch follows one: choose it with --query NAME"));
  expect_mistake({"--from", folder_ / "none.jsonl"}, "none.jsonl: there is no such file");
  expect_mistake({"--last", "1h"}, "--last and --by belong together");
  expect_mistake({"--last", "1h", "--by", "price"}, "a window by time needs a column of dates or timestamps");
  expect_mistake({"--last", "soon", "--by", "day"}, "--last: 'soon' is no time");
  expect_mistake({"--last-rows", "0"}, "--last-rows: needs 1 or more rows");
  expect_mistake({"--show", "rows"}, "'rows' is neither changes nor table");
  expect_mistake({"--format", "parquet"}, "a stream is jsonl, csv, tsv or arrow");
  expect_mistake({"--step", "-1"}, "--step");
  const Outcome unwritable = watch({"--from", rows_, "--state", folder_ / "none/best.standing"});
  EXPECT_EQ(unwritable.status, 1);
  EXPECT_EQ(unwritable.out, "");
}

}  // namespace
}  // namespace skyrank::testing
