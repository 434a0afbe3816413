// JSON lines: the types of their columns, and what is wrong with a text, with its place.
#include <filesystem>
#include <stop_token>
#include <string>
#include <utility>

#include "datasets/reader.hpp"
#include "tests/datasets/support.hpp"

namespace skyrank::datasets {
namespace {

using test::error_of;
using test::schema_of;
using test::TemporaryFolder;
using test::values_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class JsonFiles : public ::testing::Test {
 protected:
  Table read_text(std::string_view text, const ReadOptions& options = {}) {
    return read({folder_.write("t.jsonl", text)}, options);
  }
  std::string refusal(std::string_view text, const ReadOptions& options = {}) {
    return error_of<DataError>([&] { read_text(text, options); });
  }
  TemporaryFolder folder_;
};

TEST_F(JsonFiles, TypesAreThoseOfAllValues) {
  const Table table = read_text(R"({"i": 1, "f": 1, "u": 18446744073709551615, "b": true, "s": "x", "n": null}
{"f": 2.5, "i": -3, "d": "2024-02-29", "t": "2024-02-29T12:30:00", "u": 1, "s": "2024-02-29"}

{"b": false, "s": "a \"b\" \u00e9\n", "t": "2024-03-01 00:00:00", "late": 1e3}
)");
  EXPECT_THAT(schema_of(table), ElementsAre("i:int64", "f:float64", "u:uint64", "b:bool", "s:string", "n:float64",
                                            "d:date", "t:timestamp[s]", "late:float64"));
  EXPECT_THAT(values_of(table, "i"), ElementsAre("1", "-3", "NULL"));
  EXPECT_THAT(values_of(table, "u"), ElementsAre("18446744073709551615", "1", "NULL"));
  EXPECT_THAT(values_of(table, "s"), ElementsAre("x", "2024-02-29", "a \"b\" \xC3\xA9\n"));
  EXPECT_THAT(values_of(table, "d"), ElementsAre("NULL", "2024-02-29", "NULL"));
  EXPECT_THAT(values_of(table, "late"), ElementsAre("NULL", "NULL", "1000"));
}

TEST_F(JsonFiles, OnlyTheColumnsThatAreNeededAreRead) {
  ReadOptions options;
  options.columns = {"b", "a"};
  const Table table =
      read_text("{\"a\": 1, \"mixed\": 1, \"b\": 2}\n{\"a\": 3, \"mixed\": \"x\", \"b\": 4}\n", options);
  EXPECT_THAT(schema_of(table), ElementsAre("b:int64", "a:int64"));
  options.columns = std::vector<std::string>{};
  EXPECT_EQ(read_text("{}\n{\"a\": 1}\n", options).num_rows(), 2);
}

TEST_F(JsonFiles, NestedValuesAreColumnsThatSkyRankLacks) {
  const Table table = read_text("{\"a\": 1, \"o\": {\"x\": \"}\"}, \"l\": [1, [2, \"]\"]]}\n{\"a\": 2}\n");
  EXPECT_THAT(schema_of(table), ElementsAre("a:int64"));
  ASSERT_EQ(table.unsupported().size(), 2U);
  EXPECT_EQ(table.unsupported()[0],
            (UnsupportedColumn{"o", "JSON object", "flatten: true or --flatten true makes columns of its members"}));
  EXPECT_EQ(table.unsupported()[1], (UnsupportedColumn{"l", "JSON array", ""}));
  ReadOptions options;
  options.columns = {"l"};
  EXPECT_THAT(refusal("{\"a\": 1, \"l\": [1]}\n", options), HasSubstr("column 'l' has type JSON array"));
}

TEST_F(JsonFiles, ObjectsMaySpanLinesAndBlocks) {
  const std::string large(std::size_t{3} << 20, 'x');
  const Table table = read_text("\xEF\xBB\xBF{\n  \"a\": 1,\n  \"s\": \"" + large + "\"\n}\n{\"a\": 2} {\"a\": 3}");
  EXPECT_THAT(values_of(table, "a"), ElementsAre("1", "2", "3"));
  EXPECT_EQ(values_of(table, "s").front().size(), large.size());
}

TEST_F(JsonFiles, ManyRowsAreReadByAllThreads) {
  std::string text;
  for (int i = 0; i < 100'000; ++i)
    text += "{\"id\": " + std::to_string(i) + ", \"s\": \"v" + std::to_string(i % 9) + "\"}\n";
  for (const int threads : {1, 2}) {
    ReadOptions options;
    options.threads = threads;
    const Table table = read_text(text, options);
    ASSERT_EQ(table.num_rows(), 100'000);
    for (std::int64_t row = 0; row < table.num_rows(); row += 997) {
      ASSERT_EQ(std::get<std::int64_t>(table.column("id").value(row)), row);
      ASSERT_EQ(to_string(table.column("s").value(row)), "v" + std::to_string(row % 9));
    }
  }
}

TEST_F(JsonFiles, WhatDoesNotFitIsRefusedWithItsPlace) {
  const std::vector<std::pair<std::string_view, std::string>> cases = {
      {"{\"a\": 1}\n{\"a\": \"x\"}\n",
       ":2:7: column 'a' is a text here, but a number in line 1; a column needs values of one type"},
      {"{\"a\": 9007199254740993}\n{\"a\": 0.5}\n",
       ":1:7: column 'a' holds floats and the integer 9007199254740993, which float64 does not hold exactly; write its "
       "large integers with a decimal point or an exponent to read the nearest float64"},
      {"{\"a\": 1}\n{\"b\": 1, \"a\": -18446744073709551615}\n",
       ":2:15: column 'a' holds integers that neither int64 nor uint64 holds together, such as -18446744073709551615; "
       "write its large integers with a decimal point or an exponent to read the nearest float64"},
      {"{\"a\": 1e400}\n", ":1:7: column 'a' holds 1e400, which is beyond float64 (1.8e308)"},
      {"", ": the file is empty; each line should be a JSON object, whose keys name the columns"},
      {" \n\n", ": the file is empty; each line should be a JSON object, whose keys name the columns"},
      {"\n[1, 2]\n", ":2:1: expected a JSON object, such as {\"a\": 1}, on each line"},
      {"{\"a\": 1}\n{\"a\": 2", ":2:8: the last object is cut short"},
      {"{\"a\": 1}\n{\"a\":", ":2:6: the last object is cut short"},
      {"{\"a\": \"x}\n", ":1:10: a string is not closed by a quote"},
      {"{\"\u00e9\": 1, \"a\": 1, \"a\": 2}\n", ":1:18: the key 'a' comes twice in one object"},
      {"{\"a\": 1, \"\\u0061\": 2}\n", ":1:10: the key 'a' comes twice in one object"},
      {"{\"a\": yes}\n", ":1:7: expected a JSON value; texts need quotes"},
      {"{\"a\": 1 \"b\": 2}\n", ":1:9: expected ',' or '}' after a value"},
      {"{a: 1}\n", ":1:2: expected a key in quotes"},
      {"{\"a\" 1}\n", ":1:6: expected ':' after the key 'a'"},
      {"{\"a\": 1}\n{\"a\": 1.2.3}\n", ":2:7: 1.2.3 is no number of JSON, such as 12, -0.5 or 1e3"},
      {"{\"a\": 007}\n", ":1:7: 007 is no number of JSON, such as 12, -0.5 or 1e3"},
      {"{\"a\": \"\\x41\"}\n", ":1:9: the object is not valid JSON"},
      {"{\"a\": 1}\n{\"a\": 2, \"b\": [1 2]}\n", ":2:18: the object is not valid JSON"},
      {"{\"a\": 1}\n{\"a\": \"\xFF\"}\n",
       ":2: the line is not valid UTF-8; state the 'encoding' of the file, such as windows-1252, or convert it to "
       "UTF-8"},
      {"\xFF\xFE{\0", ":1: the text is not UTF-16; state another 'encoding', or convert the file to UTF-8"},
  };
  const std::string file = (folder_ / "t.jsonl").string();
  for (const auto& [text, message] : cases) EXPECT_EQ(refusal(text), file + message) << text;
  ReadOptions options;
  options.columns = {"b"};
  EXPECT_EQ(refusal("{\"a\": 1}\n", options), file + ": there is no column 'b'");
  options.columns = std::vector<std::string>{};
  EXPECT_EQ(refusal("{\"a\": [1 2]}\n", options), file + ":1:10: the object is not valid JSON");
}

TEST_F(JsonFiles, NumbersKeepAllTheirDigits) {
  const Table table = read_text(
      "{\"i\": -9223372036854775808, \"u\": 18446744073709551615, \"f\": 9007199254740992, \"z\": -0, \"e\": 1E-400}\n"
      "{\"i\": 9223372036854775807, \"u\": 0, \"f\": 0.1, \"z\": 0, \"e\": 1.7976931348623157e308}\n");
  EXPECT_THAT(schema_of(table), ElementsAre("i:int64", "u:uint64", "f:float64", "z:int64", "e:float64"));
  EXPECT_THAT(values_of(table, "i"), ElementsAre("-9223372036854775808", "9223372036854775807"));
  EXPECT_THAT(values_of(table, "u"), ElementsAre("18446744073709551615", "0"));
  EXPECT_THAT(values_of(table, "f"), ElementsAre("9007199254740992", "0.1"));
  EXPECT_THAT(values_of(table, "e"), ElementsAre("0", "1.7976931348623157e+308"));
}

TEST_F(JsonFiles, ObjectsNestAHundredLevelsAtMost) {
  const std::string deep(200'000, '[');
  const std::string too_deep =
      (folder_ / "t.jsonl").string() + ":2:114: the object is nested more than 100 levels deep";
  for (const std::string& nested : {deep, std::string(100, '[') + std::string(100, ']')}) {
    EXPECT_EQ(refusal("{\"a\": 1}\n{\"a\": 1, \"n\": " + nested + "}\n"), too_deep);
  }
  const std::string deepest = std::string(99, '[') + std::string(99, ']');
  EXPECT_THAT(schema_of(read_text("{\"a\": 1, \"n\": " + deepest + "}\n")), ElementsAre("a:int64"));
}

TEST_F(JsonFiles, HugeValuesAreNoTrouble) {
  const std::string digits(100'000, '9');
  EXPECT_THAT(refusal("{\"a\": " + digits + "}\n"),
              AllOf(HasSubstr("t.jsonl:1:7: column 'a' holds 99999"), HasSubstr("..., which is beyond float64")));
  EXPECT_THAT(values_of(read_text("{\"a\": 0." + digits + "}\n"), "a"), ElementsAre("1"));
}

TEST_F(JsonFiles, FilesOfOtherKindsAreRefused) {
  std::filesystem::create_directory(folder_ / "d.jsonl");
  EXPECT_THAT(error_of<DataError>([&] { read({folder_ / "d.jsonl"}); }), HasSubstr("is a directory, not a file"));
  EXPECT_THAT(error_of<DataError>([&] { read({folder_ / "none.jsonl"}); }), HasSubstr("No such file"));
}

TEST_F(JsonFiles, AStopEndsReading) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "{\"a\": " + std::to_string(i) + "}\n";
  std::stop_source stop;
  ReadOptions options;
  options.stop = stop.get_token();
  stop.request_stop();
  EXPECT_THAT(error_of<CancelledError>([&] { read_text(text, options); }), HasSubstr("was cancelled"));
}

TEST_F(JsonFiles, SeveralFilesAgreeOnATypeOrAreRefused) {
  const auto dates = folder_.write("a.jsonl", "{\"x\": \"2024-01-01\"}\n");
  const auto texts = folder_.write("b.jsonl", "{\"x\": \"soon\"}\n");
  const auto numbers = folder_.write("c.jsonl", "{\"x\": 5}\n");
  const auto csv = folder_.write("d.csv", "x\n2024-01-02\n");
  EXPECT_THAT(values_of(read({dates, texts}), "x"), ElementsAre("2024-01-01", "soon"));
  EXPECT_THAT(schema_of(read({dates, csv})), ElementsAre("x:date"));
  EXPECT_THAT(error_of<DataError>([&] {
                read({texts, numbers});
              }),
              AllOf(HasSubstr("c.jsonl: column 'x' is int64, but string in the files before")));
  const auto other = folder_.write("e.jsonl", "{\"y\": 5}\n");
  EXPECT_THAT(error_of<DataError>([&] { read({numbers, other}); }), HasSubstr("e.jsonl: has no column 'x'"));
}

}  // namespace
}  // namespace skyrank::datasets
