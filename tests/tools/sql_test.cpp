#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <skyrank/batch.hpp>

#include "tests/tools/program.hpp"

// Tests `skyrank sql`, `skyrank show` and `sql:` in a batch.
namespace skyrank::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kPoints = "id,x,y\na,1,9\nb,2,7\nc,4,4\nd,5,5\ne,9,1\n";
constexpr const char* kPointsBatch = R"(version: 1
tables:
  points: {file: points.csv}
queries:
  - {name: front, from: points, prefer: [{low: x}, {low: y}]}
  - name: top-2
    sql: SELECT id, y FROM points ORDER BY y LIMIT 2
)";
constexpr const char* kFront = "SELECT id, x FROM 'points.csv' PREFERRING LOW x PLUS LOW y";

class SqlCommand : public ::testing::Test {
 protected:
  SqlCommand() {
    folder_.write("points.csv", kPoints);
    folder_.write("batch.yaml", kPointsBatch);
    options_.folder = folder_.path();
  }

  Outcome run(const std::vector<std::string>& arguments) const { return run_skyrank(arguments, options_); }

  void expect_mistake(const std::vector<std::string>& arguments, const std::string& message) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << message;
    EXPECT_EQ(outcome.err, "skyrank: " + message + "\n");
    EXPECT_EQ(outcome.out, "");
  }

  TemporaryFolder folder_;
  ProgramOptions options_;
};

TEST_F(SqlCommand, PrintsTheAnswerAsRunDoes) {
  const Outcome outcome = run({"sql", kFront});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("answer\nid  x\n--  -\na   1\nb   2\nc   4\ne   9\n4 rows from 5; read "));
  EXPECT_EQ(run({"sql", kFront, "--format", "csv"}).out, "id,x\na,1\nb,2\nc,4\ne,9\n");
  EXPECT_THAT(run({"sql", kFront, "--json", "--threads", "1", "--device", "cpu"}).out, HasSubstr("\"rows\": ["));
}

TEST_F(SqlCommand, AnswersOverPatternsOfFiles) {
  const Outcome outcome = run({"sql", "select id from 'poi*.csv' order by x desc limit 1", "--format", "csv"});
  EXPECT_EQ(outcome.out, "id\ne\n") << outcome.err;
}

TEST_F(SqlCommand, ReadsTheStandardInputOnce) {
  options_.in_child = [file = folder_.write("rows", "{\"id\": \"b\", \"x\": 2}\n{\"id\": \"a\", \"x\": 1}\n")] {
    const int input = ::open(file.c_str(), O_RDONLY);
    if (input < 0 || ::dup2(input, STDIN_FILENO) < 0) ::_exit(1);
  };
  for (const char* name : {"-", "jsonl:-", "/dev/stdin"}) {
    const Outcome outcome = run({"sql", std::string("SELECT id FROM '") + name + "' ORDER BY x", "--format", "csv"});
    EXPECT_EQ(outcome.out, "id\na\nb\n") << outcome.err;
  }
  expect_mistake({"sql", "SELECT id FROM 'parquet:-' ORDER BY x"},
                 "/dev/stdin: not a Parquet file that can be read, or damaged: Parquet magic bytes not found in "
                 "footer. Either the file "
                 "is corrupted or this is not a parquet file.");
  // Both tables are what came through the one pipe.
  folder_.write("twice.yaml",
                "version: 1\ntables: {s: {file: '-'}, t: {file: '-', format: jsonl}}\nqueries:\n"
                "  - {name: s, from: s, rank_by: {low: x}, limit: 1, select: [id]}\n"
                "  - {name: t, from: t, rank_by: {high: x}, limit: 1, select: [id]}\n");
  EXPECT_EQ(run({"run", "twice.yaml", "--out", "twice"}).err, "");
  EXPECT_EQ(read_file(folder_.path() / "twice/s.csv"), "id\na\n");
  EXPECT_EQ(read_file(folder_.path() / "twice/t.csv"), "id\nb\n");
}

TEST_F(SqlCommand, AnswersSeveralStatements) {
  const std::string several =
      "SELECT id FROM 'points.csv' ORDER BY x LIMIT 1; -- the first;\n"
      "SELECT id, ';' AS semicolon FROM 'points.csv' ORDER BY y LIMIT 1;\n;"
      "SELECT count(*) AS n, x > 3 AS far FROM 'points.csv' GROUP BY 2 OPTIONS (name = 'far');\n";
  const Outcome outcome = run({"sql", several, "--out", "several"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(read_file(folder_.path() / "several/answer.csv"), "id\na\n");
  EXPECT_EQ(read_file(folder_.path() / "several/answer-2.csv"), "id,semicolon\ne,;\n");
  EXPECT_EQ(read_file(folder_.path() / "several/far.csv"), "n,far\n2,false\n3,true\n");
  expect_mistake({"sql", "SELECT id FROM 'points.csv';\nSELECT id FORM 'points.csv'"},
                 "sql:2:11: expected ',' or FROM after 'id', found 'FORM'; did you mean 'FROM'?");
  expect_mistake(
      {"sql", "SELECT id FROM 'points.csv' OPTIONS (name = 'a'); SELECT x FROM 'points.csv' OPTIONS (name = 'a')"},
      "sql:1:65: two statements have the name 'a'");
  expect_mistake({"sql", " ; -- nothing"}, "sql:1:14: expected SELECT, found the end of the statement");
}

TEST_F(SqlCommand, AggregatesAllRowsOfFiles) {
  ASSERT_EQ(run({"sql", "SELECT * FROM 'points.csv'", "--out", "points.parquet"}).status, 0);
  for (const std::string file : {"points.csv", "points.parquet"}) {
    const auto answer = [&](const std::string& rest) {
      return run({"sql", "SELECT count(*) AS n, max(id) AS last, sum(x) / count(*) AS mean FROM '" + file + "'" + rest,
                  "--format", "csv"})
          .out;
    };
    EXPECT_EQ(answer(" WHERE x < 3"), "n,last,mean\n2,b,1\n") << file;
    EXPECT_EQ(answer(" WHERE x > 1000"), "n,last,mean\n0,,\n") << file;  // which statistics exclude
    EXPECT_EQ(answer(" WHERE id = 'none'"), "n,last,mean\n0,,\n") << file;
    EXPECT_EQ(answer(" HAVING count(*) > 9"), "n,last,mean\n") << file;
  }
}

TEST_F(SqlCommand, ReadsStatementsFromTheStandardInput) {
  const auto feed = [&](const std::string& text) {
    options_.in_child = [file = folder_.write("statements.sql", text)] {
      const int input = ::open(file.c_str(), O_RDONLY);
      if (input < 0 || ::dup2(input, STDIN_FILENO) < 0) ::_exit(1);
    };
  };
  feed("SELECT id\nFROM 'points.csv'\nORDER BY x DESC LIMIT 1;\n");
  EXPECT_EQ(run({"sql", "-", "--format", "csv"}).out, "id\ne\n");
  feed("SELECT id FROM '-'");
  expect_mistake({"sql", "-"}, "sql:1:16: the standard input has the statements: FROM needs a file");
  feed("");
  expect_mistake({"sql", "-"}, "sql:1:1: expected SELECT, found the end of the statement");
}

TEST_F(SqlCommand, ReadsFieldsBetweenADelimiter) {
  folder_.write("rows.txt", "id;x\nb;2\na;1\n");
  const std::string statement = "SELECT id, x FROM 'csv:rows.txt' ORDER BY x";
  EXPECT_EQ(run({"sql", statement, "--delimiter", ";", "--format", "csv"}).out, "id,x\na,1\nb,2\n");
  expect_mistake({"sql", statement, "--delimiter", ";;"},
                 "--delimiter: a delimiter is one character of ASCII other than a quote and a line break, such as ';', "
                 "or 'tab'; found ';;'");
  const Outcome outcome = run({"run", "batch.yaml", "--query", "top-2", "--format", "csv", "--set",
                               "points.file=rows.txt", "--set", "points.format=csv", "--set", "points.delimiter=;"});
  EXPECT_THAT(outcome.err, HasSubstr("column 'y'"));
  EXPECT_EQ(run({"show", "batch.yaml", "--as", "yaml", "--query", "top-2", "--set", "points.format=csv", "--set",
                 "points.delimiter=tab"})
                .out.substr(0, 78),
            "version: 1\ntables:\n  points: {file: points.csv, format: csv, delimiter: 'tab'}");
}

TEST_F(SqlCommand, StatesTypesOfColumns) {
  folder_.write("rows.csv", "zip,price\n94107,1.5\n12,0.25\n");
  const std::string statement = "SELECT zip, price FROM 'rows.csv' ORDER BY zip";
  EXPECT_EQ(run({"sql", statement, "--format", "csv"}).out, "zip,price\n12,0.25\n94107,1.5\n");
  EXPECT_EQ(run({"sql", statement, "--types", "zip:string,price:decimal(6,2)", "--format", "csv"}).out,
            "zip,price\n12,0.25\n94107,1.50\n");
  EXPECT_THAT(run({"describe", "rows.csv", "--types", "zip:string"}).out, HasSubstr("zip     string"));
  expect_mistake({"sql", statement, "--types", "zip:text"},
                 "--types: column 'zip': unknown type 'text' (types are bool, int8 to int64, uint8 to uint64, float32, "
                 "float64, decimal(p,s), date, timestamp and string)");
  expect_mistake({"sql", statement, "--types", "zip"}, "--types: 'zip' is no column with its type, such as zip:string");
  expect_mistake({"sql", statement, "--types", "zip:string,zip:date"}, "--types: the type of column 'zip' comes twice");
  expect_mistake({"sql", statement, "--types", "zap:string"},
                 "rows.csv: there is no column 'zap', for which 'types' says string; did you mean 'zip'?");
  EXPECT_THAT(run({"show", "batch.yaml", "--as", "yaml", "--query", "top-2", "--set", "points.types=x:string"}).out,
              HasSubstr("types: {x: 'string'}"));
}

TEST_F(SqlCommand, WritesFilesNamedAfterTheQuery) {
  EXPECT_EQ(run({"sql", kFront, "--out", "answers"}).status, 0);
  EXPECT_EQ(read_file(folder_.path() / "answers/answer.csv"), "id,x\na,1\nb,2\nc,4\ne,9\n");
  const std::string named = std::string(kFront) + " OPTIONS (name = 'front')";
  EXPECT_EQ(run({"sql", named, "--out", "answers", "--format", "jsonl"}).status, 0);
  EXPECT_THAT(read_file(folder_.path() / "answers/front.jsonl"), StartsWith("{\"id\":\"a\",\"x\":1}\n"));
}

TEST_F(SqlCommand, ShowsPlans) {
  EXPECT_THAT(run({"sql", kFront, "--explain"}).out, AllOf(HasSubstr("predicted"), Not(HasSubstr("measured"))));
  EXPECT_THAT(run({"sql", kFront, "--analyze"}).out, HasSubstr("measured"));
  EXPECT_THAT(run({"sql", kFront, "--candidates"}).out, AllOf(HasSubstr("candidates\n"), Not(HasSubstr("measured"))));
  expect_mistake({"sql", kFront, "--explain", "--format", "csv"},
                 "--format, --out, --report, --rows and --plan are for answers: leave them out with --explain, "
                 "--analyze and --candidates");
}

TEST_F(SqlCommand, SaysWhereAMistakeIs) {
  expect_mistake({"sql", "SELECT id FORM 'points.csv' ORDER BY x"},
                 "sql:1:11: expected ',' or FROM after 'id', found 'FORM'; did you mean 'FROM'?");
  expect_mistake({"sql", "SELECT id FROM points ORDER BY x"},
                 "sql:1:16: there is no file 'points': FROM names a file in quotes, such as FROM 'points.csv'");
  expect_mistake({"sql", "SELECT idd FROM 'points.csv' ORDER BY x"},
                 "sql:1:8: there is no column 'idd'; did you mean 'id'?");
  expect_mistake({"sql", "SELECT id FROM 'points.csv' ORDER BY x LIMIT -1"},
                 "sql:1:46: 'LIMIT' must not be negative, found -1");
}

TEST_F(SqlCommand, RefusesBytesThatAreNoText) {
  expect_mistake({"sql", "SELECT '\xFF' FROM 'points.csv' ORDER BY x"}, "sql:1:9: the statement is not valid UTF-8");
}

TEST_F(SqlCommand, BatchesHoldStatements) {
  EXPECT_EQ(run({"run", "batch.yaml", "--query", "top-2", "--format", "csv"}).out, "id,y\ne,1\nc,4\n");
}

TEST_F(SqlCommand, ShowPrintsEveryDialect) {
  EXPECT_EQ(run({"show", "batch.yaml"}).out,
            "SELECT *\nFROM points\nPREFERRING LOW x PLUS LOW y\nOPTIONS (name = 'front');\n\n"
            "SELECT id, y\nFROM points\nORDER BY y\nLIMIT 2\nOPTIONS (name = 'top-2');\n");
  EXPECT_EQ(
      run({"show", "batch.yaml", "--as", "cpp"}).out,
      "const Query front = Query::from(\"points\")\n    .name(\"front\")\n    .prefer({low(\"x\"), low(\"y\")});\n\n"
      "const Query top_2 = Query::from(\"points\")\n    .name(\"top-2\")\n    .rank_by({low(\"y\")})\n"
      "    .limit(2)\n    .select({\"id\", \"y\"});\n");
  EXPECT_EQ(run({"show", "batch.yaml", "--query", "front", "--as", "yaml"}).out,
            "version: 1\ntables:\n  points: {file: points.csv}\nqueries:\n  - name: front\n    from: points\n"
            "    prefer: [{low: x}, {low: y}]\n");
  expect_mistake({"show", "batch.yaml", "--as", "sq"}, "--as: 'sq' is not one of sql, yaml, cpp; did you mean 'sql'?");
}

TEST_F(SqlCommand, ShowsTheNamesOfKeys) {
  folder_.write("keys.yaml",
                "version: 1\ntables:\n  points: {file: points.csv}\nqueries:\n  - {name: q, from: points, "
                "group_by: [id, {half: x / 2}], aggregate: {n: count()}, partition_by: [half], limit: 1}\n");
  EXPECT_EQ(run({"show", "keys.yaml", "--as", "sql"}).out,
            "SELECT *\nFROM points\nGROUP BY id, x / 2 AS half\nAGGREGATE COUNT(*) AS n\nPARTITION BY half\nLIMIT 1\n"
            "OPTIONS (name = 'q');\n");
  EXPECT_EQ(run({"show", "keys.yaml", "--as", "yaml"}).out,
            "version: 1\ntables:\n  points: {file: points.csv}\nqueries:\n  - name: q\n    from: points\n"
            "    group_by: [id, {half: 'x / 2'}]\n    aggregate: {n: 'count()'}\n    partition_by: [half]\n"
            "    limit: 1\n");
  EXPECT_EQ(
      run({"show", "keys.yaml", "--as", "cpp"}).out,
      "const Query q = Query::from(\"points\")\n    .name(\"q\")\n    .group_by({\"id\", {\"half\", \"x / 2\"}})\n"
      "    .aggregate({count(\"n\")})\n    .partition_by({\"half\"})\n    .limit(1);\n");
}

TEST_F(SqlCommand, ShowsSkybandsAndFunctionsOfRows) {
  folder_.write(
      "band.yaml",
      "version: 1\ntables:\n  points: {file: points.csv}\nqueries:\n  - {name: q, from: points, prefer: [{low: x}, "
      "{low: y}], skyband: all, rank_by: {high: dominates()}, select: [\"contribution(9, 9)\"]}\n");
  EXPECT_EQ(
      run({"show", "band.yaml", "--as", "sql"}).out,
      "SELECT contribution(9, 9)\nFROM points\nPREFERRING LOW x PLUS LOW y\nSKYBAND ALL\nORDER BY dominates() DESC\n"
      "OPTIONS (name = 'q');\n");
  EXPECT_EQ(run({"show", "band.yaml", "--as", "yaml"}).out,
            "version: 1\ntables:\n  points: {file: points.csv}\nqueries:\n  - name: q\n    from: points\n"
            "    prefer: [{low: x}, {low: y}]\n    skyband: all\n    rank_by: [{high: 'dominates()'}]\n"
            "    select: ['contribution(9, 9)']\n");
  EXPECT_EQ(run({"show", "band.yaml", "--as", "cpp"}).out,
            "const Query q = Query::from(\"points\")\n    .name(\"q\")\n    .prefer({low(\"x\"), low(\"y\")})\n"
            "    .skyband(kAllRows)\n    .rank_by({high(\"dominates()\")})\n    .select({\"contribution(9, 9)\"});\n");
}

TEST_F(SqlCommand, GroupsByNamesOfTheSelectList) {
  EXPECT_EQ(
      run({"sql", "SELECT y / 4 AS q, COUNT(*) AS n FROM 'points.csv' GROUP BY q ORDER BY q", "--format", "csv"}).out,
      "q,n\n0,1\n1,3\n2,1\n");
  expect_mistake({"sql", "SELECT y / 4 AS x, COUNT(*) AS n FROM 'points.csv' GROUP BY x"},
                 "sql:1:8: the table has a column 'x' already; name the key y / 4 otherwise");
  expect_mistake({"sql", "SELECT z / 4 AS q, COUNT(*) AS n FROM 'points.csv' GROUP BY q"},
                 "sql:1:8: there is no column 'z'");
}

/// Every batch of the golden answers comes back equal from its YAML and from its SQL.
TEST(Show, KeepsWhatBatchesMean) {
  const std::filesystem::path folder = std::filesystem::path(SKYRANK_SOURCE_DIR) / "tests/golden/answers";
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(entry.path().string());
    const Batch batch = read_batch(entry.path());
    const Outcome shown = run_skyrank({"show", entry.path().string(), "--as", "yaml"});
    ASSERT_EQ(shown.status, 0) << shown.err;
    const Batch again = parse_batch(shown.out, "shown.yaml");
    EXPECT_TRUE(again.tables == batch.tables) << shown.out;
    EXPECT_TRUE(again.queries == batch.queries) << shown.out;
    for (const Query& query : batch.queries) EXPECT_TRUE(Query::parse(to_sql(query)) == query) << to_sql(query);
    ++compared;
  }
  EXPECT_GE(compared, 20);
}

}  // namespace
}  // namespace skyrank::testing
