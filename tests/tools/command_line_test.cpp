#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "tests/build.hpp"
#include "tests/tools/program.hpp"

// Tests the output and status of the commands when all is well or the user made a mistake.
namespace skyrank::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

const std::string kHotels = std::string(SKYRANK_SOURCE_DIR) + "/datasets/examples/hotels.yaml";

constexpr const char* kPoints = "id,x,y\na,1,9\nb,2,7\nc,4,4\nd,5,5\ne,9,1\n";
constexpr const char* kBatch = R"(version: 1
tables:
  points: {file: points.csv}
queries:
  - {name: front, from: points, prefer: [{low: x}, {low: y}]}
  - {name: top, from: points, rank_by: {low: y}, limit: 2, select: [id, y]}
)";

class CommandLine : public ::testing::Test {
 protected:
  CommandLine() {
    folder_.write("points.csv", kPoints);
    batch_ = folder_.write("batch.yaml", kBatch);
  }

  TemporaryFolder folder_;
  std::string batch_;
};

void expect_mistake(const std::vector<std::string>& arguments, const std::string& message) {
  const Outcome outcome = run_skyrank(arguments);
  EXPECT_EQ(outcome.status, 2) << message;
  EXPECT_EQ(outcome.err, "skyrank: " + message + "\n");
  EXPECT_EQ(outcome.out, "");
}

TEST_F(CommandLine, KeepsALimitOfMemory) {
  for (const std::string size : {"100000000", "100MB", "0.1GiB"}) {
    EXPECT_EQ(run_skyrank({"run", batch_, "--memory-limit", size}).status, 0) << size;
  }
  const Outcome refused = run_skyrank({"run", batch_, "--query", "front", "--memory-limit", "20B"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, ContainsRegex("batch.yaml:5:.*: the query reads about .* kB of its table at a time, .* "
                                         "limit of memory is 0.1 kB, of which 0 kB are in use\n"));
}

TEST_F(CommandLine, ShowsTheFirstAndLastRowsOfALongAnswerOnATerminal) {
  std::string text = "n\n";
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + "\n";
  folder_.write("long.csv", text);
  const std::string batch = folder_.write("long.yaml",
                                          "version: 1\ntables: {t: {file: long.csv}}\nqueries:\n"
                                          "  - {name: q, from: t, rank_by: {low: n}, select: [n]}\n");
  ProgramOptions terminal;
  terminal.terminal = true;
  terminal.environment = {"TERM=dumb"};
  const std::string shown = run_skyrank({"run", batch}, terminal).out;
  EXPECT_THAT(shown, HasSubstr("   19\r\n(99960 rows left out)\r\n99980\r\n"));
  EXPECT_THAT(shown, HasSubstr("99999\r\n100,000 rows from 100,000;"));
  EXPECT_THAT(shown, HasSubstr("40 of 100,000 rows shown; for all, add --rows 0, --format csv or --out PATH"));
  EXPECT_THAT(run_skyrank({"run", batch, "--rows", "0"}, terminal).out, HasSubstr("\r\n50000\r\n"));
  EXPECT_THAT(run_skyrank({"run", batch}).out, AllOf(HasSubstr("\n50000\n"), Not(HasSubstr("rows shown"))));
  EXPECT_THAT(run_skyrank({"run", batch, "--rows", "2"}).out, HasSubstr("\n    0\n(99998 rows left out)\n99999\n"));
  expect_mistake({"run", batch, "--rows", "2", "--format", "csv"},
                 "--rows is for tables: leave out --format, --json and --out, or --rows");
}

TEST_F(CommandLine, ReadsAPipeOnceForAllQueriesAndTables) {
  const std::string batch =
      folder_.write("piped.yaml",
                    "version: 1\ntables: {a: {file: /dev/stdin}, b: {file: /dev/stdin}}\nqueries:\n"
                    "  - {name: one, from: a, rank_by: {low: y}, limit: 1, select: [id]}\n"
                    "  - {name: two, from: b, rank_by: {low: x}, limit: 1, select: [id]}\n");
  const std::string command = "cat '" + folder_ / "points.csv" + "' | '" + skyrank_program() + "' run '" + batch + "'";
  const Outcome outcome = run_program("bash", {"-c", command});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("--\ne\n"), HasSubstr("--\na\n")));
}

TEST_F(CommandLine, PrintsAHelpWithAnExampleForEachCommand) {
  const Outcome outcome = run_skyrank({"--help"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
  for (const std::string command :
       {"run", "check", "explain", "watch", "generate", "algorithms", "bench", "calibrate", "man"}) {
    EXPECT_THAT(outcome.out, HasSubstr("\n  " + command + " "));
    const Outcome help = run_skyrank({command, "--help"});
    EXPECT_EQ(help.status, 0);
    EXPECT_THAT(help.out, HasSubstr("Example:\n  skyrank " + command));
  }
}

TEST_F(CommandLine, TellsItsVersion) {
  const Outcome outcome = run_skyrank({"--version"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, ContainsRegex("^skyrank [0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(outcome.out, ContainsRegex("compiler .+, build type .+, CUDA "));
}

TEST_F(CommandLine, WithoutACommandShowsTheHelpAndFails) {
  const Outcome outcome = run_skyrank({});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.out, HasSubstr("Usage: skyrank"));
  EXPECT_EQ(outcome.err, "skyrank: no command given\n");
}

TEST_F(CommandLine, OffersTheNearestName) {
  expect_mistake(
      {"rnu", batch_},
      "unknown command 'rnu'; did you mean 'run'?; there are run, check, explain, why, watch, plot, sql, shell, show, "
      "describe, generate, "
      "algorithms, bench, calibrate, completion, man");
  expect_mistake({"run", batch_, "--fromat", "csv"}, "run: unknown option '--fromat'; did you mean '--format'?");
  expect_mistake({"run", batch_, "--query", "fron"},
                 "there is no query 'fron' in the batch; did you mean 'front'? (it has front, top)");
  expect_mistake({"run", batch_, "--device", "cdua"},
                 "--device: 'cdua' is not one of auto, cpu, cuda; did you mean 'cuda'?");
  expect_mistake({"run", batch_, "--set", "point.file=x.csv"},
                 "--set: the batch has no table 'point'; did you mean 'points'?");
  EXPECT_THAT(run_skyrank({"run", batch_, "--set", "points.fiel=x.csv"}).err, HasSubstr("did you mean 'file'?"));
  EXPECT_THAT(run_skyrank({"run", batch_, "--out", folder_ / "out", "--format", "parqet"}).err,
              HasSubstr("did you mean 'parquet'?"));
}

TEST_F(CommandLine, OffersABatchForAFileOfData) {
  ProgramOptions options;
  options.folder = std::filesystem::path(SKYRANK_SOURCE_DIR) / "tests/golden/errors/data";
  const Outcome outcome = run_skyrank({"run", "hotels.csv"}, options);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err,
            "skyrank: hotels.csv: this is data, not a batch; a batch for it:\nversion: 1\n"
            "tables: {data: {file: 'hotels.csv'}}\n"
            "queries: [{name: best, from: data, rank_by: {low: 'price'}, limit: 10}]\n");
}

TEST_F(CommandLine, ListsTheColumnsOfAFile) {
  const Outcome outcome = run_skyrank({"describe", folder_ / "points.csv"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "column  type    first values\n------  ------  ------------\nid      string  a, b, c\n"
            "x       int64   1, 2, 4\ny       int64   9, 7, 4\n5 rows in 1 unit\n");
  const Json document = Json::parse(run_skyrank({"describe", folder_ / "points.csv", "--json"}).out);
  EXPECT_EQ(document["rows"], 5);
  EXPECT_EQ(document["columns"][1], Json::parse(R"({"name": "x", "type": "int64"})"));
  const std::string file = folder_ / "rows.parquet";
  EXPECT_EQ(run_skyrank({"generate", "--distribution", "uniform", "--rows", "10", "--out", file}).status, 0);
  EXPECT_THAT(run_skyrank({"describe", file}).out, AllOf(HasSubstr("c0      float32"), HasSubstr("10 rows in 1 unit")));
  const std::string text = folder_.write("rows.txt", "a;b\n1;2\n");
  EXPECT_THAT(run_skyrank({"describe", text, "--format", "csv", "--delimiter", ";"}).out, HasSubstr("\nb       int64"));
  const Outcome empty = run_skyrank({"describe", folder_.write("empty.csv", "a,b\n")});
  EXPECT_THAT(empty.out, HasSubstr("0 rows in ")) << empty.err;
  expect_mistake({"describe", folder_ / "point.csv"},
                 "there is no file '" + folder_ / "point.csv" + "'; did you mean '" + folder_ / "points.csv" + "'?");
}

TEST_F(CommandLine, TellsWhichCommandsTakeAFile) {
  expect_mistake({batch_}, "'" + batch_ + "' is a file, not a command: to answer a batch, write skyrank run " + batch_ +
                               "; to list the columns of a table, skyrank describe " + batch_);
  EXPECT_THAT(run_skyrank({"run", folder_ / "btach.yaml"}).err, HasSubstr("did you mean '" + batch_ + "'?"));
}

TEST_F(CommandLine, TakesFilesThatBeginWithADash) {
  folder_.write("-dash.csv", "a\n1\n");
  ProgramOptions options;
  options.folder = folder_.path();
  EXPECT_EQ(run_skyrank({"describe", "--", "-dash.csv"}, options).status, 0);
  expect_mistake({"describe", "--", "-none.csv", "more"}, "describe: unexpected argument 'more'");
}

TEST_F(CommandLine, RefusesWhatMakesNoSense) {
  expect_mistake({"run", batch_, "extra"}, "run: unexpected argument 'extra'");
  for (const std::string option : {"--out", "--format", "--timeout", "--memory-limit", "--query"}) {
    expect_mistake({"run", batch_, option, ""}, option + ": the value is empty");
  }
  expect_mistake({"run", batch_, "--rows", "-1"}, "--rows: -1 is not 0 (all rows) or more");
  expect_mistake({"run", batch_, "--set", "points.file="}, "--set points.file: the name of a file is empty");
  expect_mistake({"run", batch_, "--threads", "-1"}, "--threads: -1 is not between 0 (all cores) and 1024");
  for (const std::string size : {"2Gb", "0", "-1MB", "much", "1e30GiB", "nanMB"}) {
    expect_mistake({"run", batch_, "--memory-limit", size},
                   "--memory-limit: '" + size + "' is not a size such as 4096, 500MB or 1.5GiB");
    expect_mistake({"run", batch_, "--gpu-memory-limit", size},
                   "--gpu-memory-limit: '" + size + "' is not a size such as 4096, 500MB or 1.5GiB");
  }
  expect_mistake({"run", batch_, "--devices", "0,-1"}, "--devices: -1 is not the number of a GPU, which are 0, 1, ...");
  expect_mistake({"explain", batch_, "--devices", "0,1,0"}, "--devices: GPU 0 is named twice");
  for (const std::string time : {"soon", "0", "-1s", "0.1ms", "5 days", "1e30"}) {
    expect_mistake({"run", batch_, "--timeout", time},
                   "--timeout: '" + time + "' is not a time such as 30s, 500ms or 5min (a plain number is seconds)");
  }
  expect_mistake({"run", batch_, "--threads", "2000"}, "--threads: 2000 is not between 0 (all cores) and 1024");
  expect_mistake({"run", folder_ / "none.yaml"}, folder_ / "none.yaml: no such file");
  expect_mistake({"run", folder_.path().string()}, folder_.path().string() + ": is a folder; a batch is a YAML file");
  expect_mistake({"run", batch_, "--set", "points"},
                 "--set points: expected table.key=value, such as hotels.file=hotels.csv");
  expect_mistake({"run", batch_, "--set", "points.header=perhaps"},
                 "--set points.header: 'perhaps' is neither true nor false");
  for (const std::string texts : {"", ",", "NA,", "NA,,-"}) {
    expect_mistake({"run", batch_, "--set", "points.nulls=" + texts},
                   "--set points.nulls: '" + texts + "' is not a list of texts such as NA,-");
  }
  expect_mistake({"run", batch_, "--set", "points.generate.rows=5"},
                 "--set points.generate.rows=5: table 'points' is read from a file, not generated");
  EXPECT_EQ(run_skyrank({"run"}).status, 2);
  EXPECT_EQ(run_skyrank({"run", batch_, "--threads", "many"}).status, 2);
  EXPECT_EQ(run_skyrank({"run", batch_, "--json", "--format", "csv"}).status, 2);
  EXPECT_EQ(run_skyrank({"run", batch_, "--format", "parquet"}).status, 2);
  EXPECT_EQ(run_skyrank({"run", batch_, "--format", "table", "--out", folder_ / "out"}).status, 2);
}

TEST_F(CommandLine, PrintsAlignedTablesWithHeadingsAndTimes) {
  const Outcome outcome = run_skyrank({"run", batch_});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out,
              StartsWith("front\nrow  id  x  y\n---  --  -  -\n  0  a   1  9\n  1  b   2  7\n  2  c   4  4\n"
                         "  4  e   9  1\n4 rows from 5; read "));
  const std::string time = "[0-9]+\\.[0-9]+ ms";
  EXPECT_THAT(outcome.out, ContainsRegex("2 rows from 5; read " + time + ", keys " + time + ", compute " + time +
                                         ", gather " + time + "\n$"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
}

TEST_F(CommandLine, PrintsTheBareRowsOfOneQuery) {
  EXPECT_EQ(run_skyrank({"run", batch_, "--query", "top", "--format", "csv"}).out, "id,y\ne,1\nc,4\n");
  EXPECT_EQ(run_skyrank({"run", batch_, "--query", "top", "--format", "jsonl"}).out,
            "{\"id\":\"e\",\"y\":1}\n{\"id\":\"c\",\"y\":4}\n");
  expect_mistake(
      {"run", batch_, "--format", "csv"},
      "--format csv prints the rows of one query and the batch has 2: choose one with --query NAME, or write "
      "each to a file with --out PATH");
}

TEST_F(CommandLine, RunsTheQueriesAskedForInTheOrderAskedFor) {
  const Outcome outcome =
      run_skyrank({"run", batch_, "--query", "top", "--query", "front", "--query", "top", "--json"});
  const Json document = Json::parse(outcome.out);
  ASSERT_EQ(document["queries"].size(), 2U);
  EXPECT_EQ(document["queries"][0]["name"], "top");
  EXPECT_EQ(document["queries"][1]["name"], "front");
}

TEST_F(CommandLine, WritesOneFileAQuery) {
  const std::string out = folder_ / "new/folder";
  for (const std::string format : {"csv", "jsonl", "parquet", "arrow"}) {
    const Outcome outcome = run_skyrank({"run", batch_, "--out", out, "--format", format});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(out + "/front." + format + ": 4 rows from 5; "));
    EXPECT_TRUE(std::filesystem::exists(out + "/top." + format));
  }
  EXPECT_EQ(read_file(out + "/top.csv"), "id,y\ne,1\nc,4\n");
  for (const std::string format : {"csv", "parquet", "arrow"}) {
    const Outcome again = run_skyrank(
        {"run", batch_, "--query", "top", "--format", "csv", "--set", "points.file=" + out + "/front." + format});
    EXPECT_EQ(again.out, "id,y\ne,1\nc,4\n") << format << again.err;
  }
}

TEST_F(CommandLine, WritesTheAnswerOfOneQueryToOneFile) {
  for (const std::string suffix : {"csv", "jsonl", "parquet", "arrow"}) {
    const std::string file = folder_ / ("best." + suffix);
    const Outcome outcome = run_skyrank({"run", batch_, "--query", "top", "--out", file});
    EXPECT_THAT(outcome.out, StartsWith(file + ": 2 rows from 5; ")) << outcome.err;
    EXPECT_TRUE(std::filesystem::is_regular_file(file));
  }
  EXPECT_EQ(read_file(folder_ / "best.csv"), "id,y\ne,1\nc,4\n");
  EXPECT_EQ(read_file(folder_ / "best.jsonl"), "{\"id\":\"e\",\"y\":1}\n{\"id\":\"c\",\"y\":4}\n");
  for (const std::string suffix : {"parquet", "arrow"}) {
    const Outcome again = run_skyrank({"sql", "SELECT id, y FROM '" + folder_ / ("best." + suffix) + "' ORDER BY y",
                                       "--quiet", "--out", folder_ / "again.csv"});
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(read_file(folder_ / "again.csv"), "id,y\ne,1\nc,4\n") << suffix;
  }
  const Json answer =
      Json::parse(run_skyrank({"run", batch_, "--query", "top", "--json", "--out", folder_ / "best.csv"}).out);
  EXPECT_EQ(answer["queries"][0]["file"], folder_ / "best.csv");
  EXPECT_EQ(run_skyrank({"run", batch_, "--query", "top", "--out", folder_ / "v1.2"}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "v1.2/top.csv"));
  std::filesystem::create_directory(folder_ / "folder.csv");
  EXPECT_EQ(run_skyrank({"run", batch_, "--out", folder_ / "folder.csv"}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "folder.csv/front.csv"));
}

TEST_F(CommandLine, SaysWhatOneFileCannotHold) {
  const std::string file = folder_ / "best.csv";
  expect_mistake({"run", batch_, "--out", file}, "--out " + file +
                                                     " is one file and the batch has 2 queries: choose one with "
                                                     "--query NAME, or name a folder");
  expect_mistake({"run", batch_, "--query", "top", "--out", file, "--format", "parquet"},
                 "--out " + file + " and --format parquet are different formats: leave --format out, or name a folder");
  expect_mistake({"run", batch_, "--query", "top", "--out", file + ".gz"},
                 "--out " + file + ".gz: answers are not compressed; name a file such as best.csv");
  expect_mistake({"run", batch_, "--query", "top", "--out", folder_ / "best.tsv"},
                 "unknown format 'tsv'; did you mean 'csv'? (formats are csv, jsonl, parquet, arrow)");
  expect_mistake({"run", batch_, "--query", "top", "--out", folder_ / "best.xlsx"},
                 "--out " + folder_ / "best.xlsx" +
                     ": answers are written as .csv, .jsonl, .parquet or .arrow, not as " +
                     ".xlsx; a folder of this name is " + folder_ / "best.xlsx/");
  EXPECT_THAT(folder_.names(), ElementsAre("batch.yaml", "points.csv"));
  const Outcome nowhere = run_skyrank({"run", batch_, "--query", "top", "--out", folder_ / "none/best.csv"});
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("none/best.csv"));
}

TEST_F(CommandLine, SettingsReplaceFilesAndHeaders) {
  folder_.write("other.csv", "z,3,3\ny,1,1\n");
  ProgramOptions here;
  here.folder = folder_.path();
  const Outcome outcome =
      run_skyrank({"run", "batch.yaml", "--query", "top", "--format", "csv", "--set", "points.file=other.csv"}, here);
  EXPECT_EQ(outcome.status, 2);
  const std::string headless = folder_.write("headless.yaml", R"(version: 1
tables:
  points: {file: none.csv}
queries:
  - {name: top, from: points, rank_by: {low: c1}, limit: 1}
)");
  EXPECT_EQ(
      run_skyrank(
          {"run", headless, "--format", "csv", "--set", "points.file=other.csv", "--set", "points.header=false"}, here)
          .out,
      "row,c0,c1,c2\n1,y,1,1\n");
}

TEST_F(CommandLine, SettingsSayWhichTextsAreNull) {
  const std::string file = folder_.write("gaps.csv", "id,y\na,-\nb,none\nc,3\n");
  const std::vector<std::string> arguments = {"run",      batch_,
                                              "--query",  "top",
                                              "--format", "csv",
                                              "--set",    "points.file=" + file,
                                              "--set",    "points.nulls=none,-"};
  const Outcome outcome = run_skyrank(arguments);
  EXPECT_EQ(outcome.out, "id,y\nc,3\na,\n") << outcome.err;
}

TEST_F(CommandLine, SettingsChangeGeneratedTables) {
  const std::string batch = folder_.write("generated.yaml", R"(version: 1
tables:
  points: {generate: {distribution: independent, rows: 10, dims: 2, seed: 1}}
queries:
  - {name: front, from: points, prefer: [{low: c0}, {low: c1}]}
)");
  const Outcome outcome =
      run_skyrank({"run", batch, "--query", "front", "--json", "--set", "points.generate.rows=250", "--set",
                   "points.generate.dims=3", "--set", "points.generate.distribution=anticorrelated"});
  const Json answer = Json::parse(outcome.out)["queries"][0];
  EXPECT_EQ(answer["input_rows"], 250);
  EXPECT_EQ(answer["columns"].size(), 4U);
}

TEST_F(CommandLine, PrintsJsonForPrograms) {
  const Outcome outcome = run_skyrank({"run", batch_, "--json"});
  EXPECT_EQ(outcome.status, 0);
  const Json document = Json::parse(outcome.out);
  EXPECT_EQ(document["batch"], batch_);
  const Json& front = document["queries"][0];
  EXPECT_EQ(front["name"], "front");
  EXPECT_EQ(front["row_count"], 4);
  EXPECT_EQ(front["rows"][1], Json::parse(R"({"row": 1, "id": "b", "x": 2, "y": 7})"));
  EXPECT_EQ(front["columns"][0], Json::parse(R"({"name": "row", "type": "int64"})"));
  EXPECT_FALSE(front.contains("plan"));
  EXPECT_FALSE(front.contains("work"));
  for (const char* stage : {"read_ms", "keys_ms", "compute_ms", "gather_ms", "total_ms"}) {
    EXPECT_TRUE(front["timing"][stage].is_number()) << stage;
  }
  const Json& top = document["queries"][1];
  EXPECT_EQ(top["rows"], Json::parse(R"([{"id": "e", "y": 1}, {"id": "c", "y": 4}])"));
}

TEST_F(CommandLine, ShowsPlansWithTheAnswers) {
  const Json front = Json::parse(run_skyrank({"run", batch_, "--json", "--plan"}).out)["queries"][0];
  EXPECT_EQ(front["row_count"], 4);
  EXPECT_EQ(front["plan"]["op"], "gather");
  EXPECT_EQ(front["plan"]["measured_rows"], 4);
  EXPECT_GT(front["work"]["dominance_tests"], 0);
  EXPECT_THAT(run_skyrank({"run", batch_, "--query", "top", "--plan"}).out,
              ContainsRegex("c +4\n2 rows from 5; .*\ngather  id, y\n(.*\n)*.*measured 2 rows"));
  EXPECT_THAT(run_skyrank({"run", batch_, "--query", "top", "--plan", "--out", folder_ / "top.csv"}).out,
              ContainsRegex("top.csv: 2 rows from 5; .*\ngather  id, y\n"));
  expect_mistake({"run", batch_, "--query", "top", "--plan", "--format", "csv"},
                 "--plan would be among the rows: leave it or --format csv out, or add --out PATH");
}

TEST_F(CommandLine, QuietLeavesOutAllButAnswersAndErrors) {
  EXPECT_EQ(run_skyrank({"run", batch_, "--query", "top", "--quiet"}).out, "top\nid  y\n--  -\ne   1\nc   4\n");
  const Outcome file = run_skyrank({"run", batch_, "-q", "--out", folder_ / "out"});
  EXPECT_EQ(file.out + file.err, "");
  EXPECT_EQ(read_file(folder_ / "out/top.csv"), "id,y\ne,1\nc,4\n");
  const std::string odd = folder_.write("odd.yaml", R"(version: 1
tables:
  points: {file: points.csv}
queries:
  - {name: odd, from: points, where: x = null, rank_by: {low: x}, limit: 1}
)");
  for (const std::string command : {"run", "check"}) {
    EXPECT_THAT(run_skyrank({command, odd}).err, HasSubstr("warning: ")) << command;
    EXPECT_EQ(run_skyrank({command, odd, "--quiet"}).err, "") << command;
  }
  EXPECT_EQ(run_skyrank({"check", batch_, "--quiet"}).out, "");
  const Outcome wrong = run_skyrank({"check", batch_, "--quiet", "--set", "points.file=none.csv"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("none.csv"));
}

TEST_F(CommandLine, JsonWithFilesNamesThem) {
  const Outcome outcome = run_skyrank({"run", batch_, "--json", "--out", folder_ / "out"});
  const Json document = Json::parse(outcome.out);
  EXPECT_EQ(document["queries"][1]["file"], folder_ / "out/top.csv");
  EXPECT_FALSE(document["queries"][1].contains("rows"));
}

TEST_F(CommandLine, JsonOfAnEmptyAnswerParses) {
  folder_.write("points.csv", "id,x,y\n");
  const Json document = Json::parse(run_skyrank({"run", batch_, "--json"}).out);
  EXPECT_EQ(document["queries"][0]["rows"], Json::array());
}

TEST_F(CommandLine, OneBadQueryDoesNotKeepTheOthersFromTheirAnswers) {
  const std::string batch = folder_.write("mixed.yaml", R"(version: 1
tables:
  points: {file: points.csv}
queries:
  - {name: bad, from: points, rank_by: {low: xx * 2}}
  - {name: good, from: points, rank_by: {low: y}, limit: 1, select: [id]}
)");
  const Outcome text = run_skyrank({"run", batch});
  EXPECT_EQ(text.status, 2);
  EXPECT_EQ(text.err, "skyrank: " + batch + ":5:46: there is no column 'xx'; did you mean 'x'?\n");
  EXPECT_THAT(text.out, StartsWith("good\nid\n--\ne\n"));
  const Outcome json = run_skyrank({"run", batch, "--json"});
  EXPECT_EQ(json.status, 2);
  const Json queries = Json::parse(json.out)["queries"];
  EXPECT_EQ(queries[0]["error"]["kind"], "bind");
  EXPECT_EQ(queries[0]["error"]["file"], batch);
  EXPECT_EQ(queries[0]["error"]["line"], 5);
  EXPECT_EQ(queries[0]["error"]["column"], 46);
  EXPECT_EQ(queries[0]["error"]["message"], "there is no column 'xx'; did you mean 'x'?");
  EXPECT_EQ(queries[1]["rows"].size(), 1U);
  const Outcome files = run_skyrank({"run", batch, "--out", folder_ / "out"});
  EXPECT_EQ(files.status, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/bad.csv"));
  EXPECT_EQ(read_file(folder_ / "out/good.csv"), "id\ne\n");
}

TEST_F(CommandLine, JsonTellsOfABatchThatCannotBeRead) {
  const Outcome outcome = run_skyrank({"run", folder_ / "none.yaml", "--json"});
  EXPECT_EQ(outcome.status, 2);
  const Json error = Json::parse(outcome.out)["error"];
  EXPECT_EQ(error["kind"], "usage");
  EXPECT_EQ(error["file"], folder_ / "none.yaml");
}

TEST_F(CommandLine, AFailingQueryLeavesAnOlderFileAlone) {
  const std::string batch = folder_.write("overflow.yaml", R"(version: 1
tables:
  points: {file: points.csv}
queries:
  - {name: q, from: points, rank_by: {low: x * 9223372036854775807}}
)");
  std::filesystem::create_directory(folder_ / "out");
  folder_.write("out/q.csv", "yesterday's\n");
  const Outcome outcome = run_skyrank({"run", batch, "--out", folder_ / "out"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("row 1"));
  EXPECT_EQ(read_file(folder_ / "out/q.csv"), "yesterday's\n");
}

TEST_F(CommandLine, ChecksWithoutRunning) {
  const Outcome good = run_skyrank({"check", kHotels});
  EXPECT_EQ(good.status, 0);
  EXPECT_EQ(good.out, kHotels + ": 6 queries are correct\n");
  const std::string bad = folder_.write("bad.yaml", R"(version: 1
tables:
  points: {file: points.csv}
queries:
  - {name: a, from: points, rank_by: {low: y}}
  - {name: b, from: points, rank_by: {low: -id}}
)");
  const Outcome outcome = run_skyrank({"check", bad});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("bad.yaml:6:44: '-' needs a number, got string"));
  EXPECT_EQ(outcome.out, bad + ": 1 of 2 queries are correct\n");
  const Json queries = Json::parse(run_skyrank({"check", bad, "--json"}).out)["queries"];
  EXPECT_FALSE(queries[0].contains("error"));
  EXPECT_EQ(queries[1]["error"]["line"], 6);
}

TEST_F(CommandLine, NamesTheColumnsThatItLeavesOutOnceATable) {
  const std::string data = std::string(SKYRANK_SOURCE_DIR) + "/tests/golden/errors/data/";
  const std::string batch = folder_.write(
      "lacking.yaml", "version: 1\ntables:\n  n: {file: " + data + "nested.parquet}\n  b: {file: " + data +
                          "binary.parquet}\nqueries:\n"
                          "  - {name: all, from: n, rank_by: {low: a}}\n"
                          "  - {name: again, from: n, rank_by: {high: a}}\n"
                          "  - {name: few, from: n, rank_by: {low: a}, select: [a]}\n"
                          "  - {name: bytes, from: b, rank_by: {low: a}}\n");
  const std::string nested =
      "skyrank: warning: " + batch +
      ":6:5: left out of n: l (list<element: int64>), s (struct<x: int64>), m (map<string, int64 "
      "('m')>): skyrank cannot read their types\n";
  const std::string binary =
      "skyrank: warning: " + batch +
      ":9:5: left out of b: geom (binary; row 1 is not UTF-8 text): skyrank cannot read its type\n";
  const Outcome run = run_skyrank({"run", batch});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, nested + binary);
  EXPECT_THAT(run.out, AllOf(HasSubstr("row  a"), Not(HasSubstr("geom"))));
  EXPECT_EQ(run_skyrank({"explain", batch}).err, nested + binary);
  // A check reads no values, so it does not know whether bytes are text.
  const Outcome check = run_skyrank({"check", batch});
  EXPECT_EQ(check.status, 0);
  EXPECT_EQ(check.err, nested);
}

TEST_F(CommandLine, TellsWhyARowIsNotInTheAnswer) {
  const std::string batch = std::string(SKYRANK_SOURCE_DIR) + "/datasets/examples/hotels.yaml";
  const Json reason = Json::parse(run_skyrank({"why", batch, "top-rated", "5", "--json"}).out);
  EXPECT_EQ(reason["stage"], "limit");
  EXPECT_EQ(reason["place"], 64);
  EXPECT_EQ(reason["last_row"], 82);
  EXPECT_EQ(reason["changes"], Json::parse(R"([{"term": "rating", "change": "rating >= 9.1"}])"));
  const Outcome text = run_skyrank({"why", batch, "top-rated", "5"});
  EXPECT_EQ(text.status, 0);
  EXPECT_EQ(text.out, reason["text"].get<std::string>());
  const Json dominated = Json::parse(run_skyrank({"why", batch, "good-deals", "2", "--json"}).out);
  EXPECT_EQ(dominated["num_dominators"], 4);
  EXPECT_EQ(dominated["dominators"].size(), 4U);
  EXPECT_EQ(run_skyrank({"why", batch, "top-rated", "6"}).out, "Row 6 is in the answer, at place 3.\n");

  EXPECT_THAT(run_skyrank({"why", batch, "top-rated", "96"}).err, HasSubstr("there is no row 96"));
  EXPECT_THAT(run_skyrank({"why", batch, "cities", "0"}).err, HasSubstr("'why' does not support 'group_by' yet"));
  EXPECT_THAT(run_skyrank({"why", batch, "top"}).err, HasSubstr("ROW is required"));
  EXPECT_EQ(run_skyrank({"why", batch, "topp", "0"}).status, 2);
}

TEST_F(CommandLine, HandsPicturesToPython) {
  ProgramOptions options;
  folder_.write("python", "#!/bin/sh\nshift 2\nprintf '[%s]' \"$@\"\nexit 7\n");
  std::filesystem::permissions(folder_ / "python", std::filesystem::perms::owner_all);
  options.environment = {"SKYRANK_PYTHON=" + std::string(folder_ / "python")};
  const Outcome drawn = run_skyrank({"plot", batch_, "front", "--out", "a b.png", "--max-rows", "5"}, options);
  EXPECT_EQ(drawn.status, 7) << drawn.err;
  EXPECT_EQ(drawn.out, "[plot][--kind=front][--out=a b.png][--max-rows=5][--][" + batch_ + "][front]");
  EXPECT_EQ(run_skyrank({"plot", batch_, "front", "--kind", "matrix"}, options).out,
            "[plot][--kind=matrix][--][" + batch_ + "][front]");

  options.environment = {"SKYRANK_PYTHON=" + std::string(folder_ / "none")};
  const Outcome none = run_skyrank({"plot", batch_, "front"}, options);
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("plot needs Python 3 with SkyRank's package and matplotlib"));
  EXPECT_THAT(none.err, HasSubstr("none' cannot be run: No such file or directory"));
  EXPECT_THAT(run_skyrank({"plot", batch_}, options).err, HasSubstr("QUERY is required"));
}

TEST_F(CommandLine, ExplainsWithoutRunning) {
  const Outcome outcome = run_skyrank({"explain", batch_});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.out, StartsWith("front\ngather"));
  EXPECT_THAT(outcome.out, HasSubstr("\n\ntop\ngather"));
  EXPECT_THAT(outcome.out, HasSubstr("skyline  low x, low y"));
  EXPECT_THAT(outcome.out, HasSubstr("predicted 5 rows"));
  const Json queries = Json::parse(run_skyrank({"explain", batch_, "--json"}).out)["queries"];
  EXPECT_EQ(queries[1]["plan"]["op"], "gather");
  EXPECT_FALSE(queries[1]["plan"].contains("measured_rows"));
}

TEST_F(CommandLine, ExplainListsCandidates) {
  EXPECT_THAT(run_skyrank({"explain", batch_}).out, Not(HasSubstr("candidates\n")));
  EXPECT_THAT(run_skyrank({"explain", batch_, "--candidates"}).out, HasSubstr("candidates\n"));
  for (const char* analyze : {"--candidates", "--analyze"}) {
    const Json queries =
        Json::parse(run_skyrank({"explain", batch_, "--json", "--candidates", analyze}).out)["queries"];
    ASSERT_FALSE(queries.empty());
    for (const Json& query : queries) {
      const Json& plan = query["plan"];
      EXPECT_LE(plan["predicted_rows_low"], plan["predicted_rows"]);
      EXPECT_LE(plan["predicted_rows"], plan["predicted_rows_high"]);
      ASSERT_FALSE(plan["decisions"].empty());
      for (const Json& candidate : plan["decisions"][0]["candidates"]) {
        EXPECT_LE(candidate["predicted_ms"], candidate["predicted_ms_high"]);
      }
    }
  }
}

TEST_F(CommandLine, ListsTheRulesAndPlansWithoutThem) {
  const Json list = Json::parse(run_skyrank({"explain", "--rules", "--json"}).out);
  const std::string text = run_skyrank({"explain", "--rules"}).out;
  ASSERT_FALSE(list.empty());
  std::vector<std::string> without{"explain", batch_, "--json"};
  for (const Json& rule : list) {
    EXPECT_THAT(text, HasSubstr(rule["summary"].get<std::string>()));
    without.insert(without.end(), {"--without", rule["name"].get<std::string>()});
  }
  const Json plans = Json::parse(run_skyrank(without).out);
  for (const Json& query : plans["queries"]) {
    ASSERT_EQ(query["plan"]["rules"].size(), list.size());
    for (const Json& rule : query["plan"]["rules"]) {
      EXPECT_EQ(rule["applied"], false);
      EXPECT_EQ(rule["reason"], "switched off");
    }
  }
  const Outcome outcome = run_skyrank({"explain", batch_, "--without", "statistic"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("the planner has no rule 'statistic'; did you mean 'statistics'?"));
  EXPECT_THAT(run_skyrank({"explain"}).err, HasSubstr("BATCH is required"));
}

TEST_F(CommandLine, ForcedPathsAreCheckedAtTheirPlace) {
  const auto complaint = [&](const std::string& forced) {
    const std::string batch = folder_.write("forced.yaml",
                                            "version: 1\ntables:\n  points: {file: points.csv}\nqueries:\n"
                                            "  - {name: q, from: points, prefer: [{low: x}, {low: y}],\n     using: " +
                                                forced + "}\n");
    return run_skyrank({"check", batch}).err;
  };
  EXPECT_THAT(complaint("{algorithm: sfs, parameters: {block: 0}}"),
              HasSubstr("forced.yaml:6:43: sfs: parameter 'block' is 0, but must be from 1 to "));
  EXPECT_THAT(complaint("{parameters: {blok: 1}}"),
              HasSubstr("6:27: no algorithm has a parameter 'blok'; did you mean 'block'?"));
  EXPECT_THAT(complaint("{without: [fusion, zone-map]}"), HasSubstr("6:32: the planner has no rule 'zone-map'"));
  EXPECT_EQ(complaint("{algorithm: sfs, device: cpu, parameters: {block: 7}, without: [statistics]}"), "");
}

TEST_F(CommandLine, ListsTheRegistry) {
  const Json registry = Json::parse(run_skyrank({"algorithms", "--json"}).out);
  ASSERT_FALSE(registry.empty());
  const std::string list = run_skyrank({"algorithms"}).out;
  // float32 columns, whose keys every algorithm takes.
  const auto answer = [&](const std::string& problem, const std::string& algorithm) {
    const std::string question =
        problem == "skyline" ? "prefer: [{low: c0}, {low: c1}]" : "rank_by: {low: c0}, limit: 2";
    const std::string batch =
        folder_.write("forced.yaml",
                      "version: 1\ntables: {points: {generate: {distribution: uniform, rows: 50, dims: 2}}}\n"
                      "queries:\n  - {name: q, from: points, select: [row], " +
                          question + (algorithm.empty() ? "" : ", using: {algorithm: " + algorithm + "}") + "}\n");
    return run_skyrank({"run", batch, "--format", "csv"}).out;
  };
  for (const Json& algorithm : registry) {
    EXPECT_FALSE(algorithm["source"].get<std::string>().empty());
    EXPECT_THAT(list, HasSubstr("\n  " + algorithm["name"].get<std::string>() + " "));
    EXPECT_THAT(list, HasSubstr(algorithm["summary"].get<std::string>().substr(0, 20)));
    if (algorithm["device"] != "cpu") continue;
    // Any of them can be asked for by name.
    const std::string expected = answer(algorithm["problem"], "");
    EXPECT_THAT(expected, StartsWith("row\n"));
    EXPECT_EQ(answer(algorithm["problem"], algorithm["name"]), expected);
  }
}

TEST_F(CommandLine, OffersTheNearestAlgorithm) {
  const std::string batch = folder_.write("forced.yaml", R"(version: 1
tables:
  points: {file: points.csv}
queries:
  - {name: q, from: points, prefer: [{low: x}, {low: y}], using: {algorithm: bln}}
)");
  const Outcome outcome = run_skyrank({"run", batch});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("there is no algorithm 'bln'; did you mean 'bnl'?"));
}

TEST_F(CommandLine, GeneratesTables) {
  for (const std::string format : {"csv", "jsonl", "parquet", "arrow"}) {
    const std::string file = folder_ / ("points." + format);
    const Outcome outcome = run_skyrank(
        {"generate", "--distribution", "anticorrelated", "--rows", "50", "--dims", "3", "--seed", "7", "--out", file});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.out + outcome.err, "");
    const std::string first = read_file(file);
    run_skyrank({"generate", "--distribution", "anticorrelated", "--rows", "50", "--dims", "3", "--seed", "7", "--out",
                 file, "--threads", "1"});
    EXPECT_EQ(read_file(file), first) << format;
  }
  EXPECT_THAT(read_file(folder_ / "points.csv"), StartsWith("c0,c1,c2\n"));
  EXPECT_EQ(run_skyrank({"generate", "--distribution", "uniform", "--rows", "2", "--format", "csv", "--out",
                         folder_ / "odd.name"})
                .status,
            0);
  EXPECT_THAT(read_file(folder_ / "odd.name"), StartsWith("c0\n"));
}

TEST_F(CommandLine, GeneratesInTheMemoryAllowed) {
  if (tests::kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  const auto peak = [&](const std::string& rows, const std::string& format) {
    const Outcome outcome =
        run_skyrank({"generate", "--distribution", "uniform", "--rows", rows, "--dims", "16", "--out",
                     folder_ / ("points." + format), "--memory-limit", "8MB", "--threads", "2"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.peak_bytes;
  };
  for (const std::string format : {"csv", "parquet", "arrow"}) {
    // The values take 64 MB. Each thread that has compressed pages keeps some of their memory.
    EXPECT_LT(peak("1000000", format), peak("10", format) + 24'000'000) << format;
  }
}

TEST_F(CommandLine, GenerateRefusesWhatItDoesNotKnow) {
  expect_mistake({"generate", "--rows", "5"}, "generate: --distribution is missing; see skyrank generate --help");
  expect_mistake({"generate", "--distribution", "uniform", "--out", folder_ / "x.csv"},
                 "generate: --rows is missing; see skyrank generate --help");
  const auto generate = [&](const std::string& distribution, const std::string& rows, const std::string& file) {
    return run_skyrank({"generate", "--distribution", distribution, "--rows", rows, "--out", folder_ / file});
  };
  EXPECT_THAT(generate("anticorelated", "5", "x.csv").err, HasSubstr("did you mean 'anticorrelated'?"));
  EXPECT_EQ(generate("uniform", "-5", "x.csv").status, 2);
  EXPECT_EQ(generate("uniform", "5", "x.xlsx").status, 2);
  const Outcome narrow = run_skyrank(
      {"generate", "--distribution", "uniform", "--rows", "5", "--out", folder_ / "x.csv", "--memory-limit", "1kB"});
  EXPECT_EQ(narrow.status, 1);
  EXPECT_EQ(narrow.err, "skyrank: generating takes about 16384 bytes of memory, and the limit is 1000\n");
  EXPECT_THAT(folder_.names(), ElementsAre("batch.yaml", "points.csv"));
  const Outcome list = run_skyrank({"generate", "--list"});
  for (const char* name : {"independent", "correlated", "anticorrelated", "zipf", "bucket-killer"}) {
    EXPECT_THAT("\n" + list.out, HasSubstr(std::string("\n") + name + " "));
  }
}

TEST_F(CommandLine, SaysWhyThereIsNoGpu) {
  const Outcome outcome = run_skyrank({"run", batch_, "--device", "cuda"});
  if (outcome.status == 0) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, StartsWith("skyrank: "));
  EXPECT_EQ(outcome.out, "");
}

// Each of 200,000 rows is a level of its own: one skyline after the other would take minutes.
TEST_F(CommandLine, LevelsOfAChainTakeSeconds) {
  constexpr std::int64_t kRows = 200'000;
  std::string csv = "x,y,z\n";
  for (std::int64_t i = 0; i < kRows; ++i) {
    const std::string place = std::to_string(i * 7919 % kRows);
    csv += place + "," + place + "," + place + "\n";
  }
  folder_.write("chain.csv", csv);
  const std::string batch = folder_.write("chain.yaml", R"(version: 1
tables: {t: {file: chain.csv}}
queries:
  - {name: one, from: t, prefer: {low: x}, at_least: 200000, select: [level]}
  - {name: two, from: t, prefer: [{low: x}, {low: y}], levels: 1000000, select: [level]}
  - {name: three, from: t, prefer: [{low: x}, {low: y}, {low: z}], at_least: 200000, select: [level]}
)");
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = run_skyrank({"run", batch, "--out", folder_ / "levels"});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::string expected = "level\n";
  for (std::int64_t i = 0; i < kRows; ++i) expected += std::to_string(i * 7919 % kRows + 1) + "\n";
  for (const std::string name : {"one", "two", "three"}) {
    EXPECT_TRUE(read_file(folder_.path() / "levels" / (name + ".csv")) == expected) << name;
  }
  EXPECT_THAT(run_skyrank({"explain", batch}).out, HasSubstr("on all levels at once by sweep on cpu"));
}

// The first level of such rows is small, so that bnl is the fastest for it and would be slow for the larger ones below.
TEST_F(CommandLine, LowerLevelsAreFoundByAPathOfTheirOwn) {
  const std::string batch = folder_.write("levels.yaml", R"(version: 1
tables: {t: {generate: {distribution: independent, rows: 8000, dims: 3, seed: 2}}}
queries:
  - name: few
    from: t
    prefer: [{low: c0}, {low: c1}, {low: c2}]
    levels: 6
    using: {algorithm: [bnl, blocked-bitmap]}
    select: [level]
  - {name: all, from: t, prefer: [{low: c0}, {low: c1}, {low: c2}], levels: 100000, select: [level]}
  - {name: forced, from: t, prefer: [{low: c0}, {low: c1}, {low: c2}], levels: 100000, using: {algorithm: bnl}}
)");
  const auto explained = [&](const std::string& query, const std::string& threads) {
    return run_skyrank({"explain", batch, "--analyze", "--query", query, "--threads", threads}).out;
  };
  EXPECT_THAT(explained("few", "2"), HasSubstr("bnl on cpu: cheapest of 2 by predicted time; from level "));
  EXPECT_THAT(explained("few", "2"), HasSubstr(" on by blocked-bitmap\n"));
  EXPECT_THAT(run_skyrank({"explain", batch, "--query", "few", "--threads", "2"}).out,
              HasSubstr("; expected from level 2 on by blocked-bitmap\n"));
  for (const std::string threads : {"1", "2", "8"}) {
    for (const std::string query : {"all", "forced"}) {
      const std::string text = explained(query, threads);
      const std::size_t end = text.find(" on all levels at once by staircases on cpu");
      ASSERT_NE(end, std::string::npos) << text;
      const std::string level = text.substr(text.rfind(' ', end - 1) + 1, end);
      EXPECT_LE(std::stoi(level), 12) << query << ", threads " << threads;
    }
  }
}

TEST_F(CommandLine, AnswersDoNotDependOnTheNumberOfThreads) {
  const auto rows = [&](const std::string& threads) {
    return run_skyrank({"run", kHotels, "--query", "best-in-town", "--format", "csv", "--threads", threads}).out;
  };
  EXPECT_THAT(rows("1"), Not(IsEmpty()));
  EXPECT_EQ(rows("1"), rows("5"));
}

}  // namespace
}  // namespace skyrank::testing
