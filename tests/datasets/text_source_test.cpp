// Text as blocks: it has the rows, types and bounds of the text that is read whole.
#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/engine.hpp>

#include "datasets/reader.hpp"
#include "datasets/write/writer.hpp"
#include "tests/datasets/sources.hpp"
#include "tests/datasets/support.hpp"

namespace skyrank::datasets {
namespace {

using test::all_columns;
using test::all_units;
using test::error_of;
using test::schema_of;
using test::TemporaryFolder;
using test::values_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A value of a column that has bounds, for comparing.
long double number_of(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<long double>(*integer);
  if (const auto* integer = std::get_if<std::uint64_t>(&value)) return static_cast<long double>(*integer);
  if (const auto* date = std::get_if<Date>(&value)) return date->days;
  if (const auto* time = std::get_if<Timestamp>(&value)) return static_cast<long double>(time->ticks);
  return std::get<double>(value);
}

class TextBlocks : public ::testing::TestWithParam<std::int64_t> {
 protected:
  std::shared_ptr<const Source> open(std::vector<std::filesystem::path> files, ReadOptions options = {}) const {
    options.block_bytes = GetParam();
    options.threads = 2;
    return open_source(files, options);
  }

  static void expect_equal(const Table& found, const Table& expected) {
    EXPECT_EQ(schema_of(found), schema_of(expected));
    ASSERT_EQ(found.num_rows(), expected.num_rows());
    for (const Column& column : expected.columns()) {
      EXPECT_EQ(values_of(found, column.name()), values_of(expected, column.name())) << column.name();
    }
  }

  /// Compares files as blocks with the same that are read whole.
  void expect_as_whole(const std::vector<std::filesystem::path>& files, const ReadOptions& options = {}) const {
    const auto source = open(files, options);
    ASSERT_NE(source, nullptr) << files.front();
    const Table whole = read(files, options);
    const std::vector<std::size_t> units = all_units(*source);
    expect_equal(source->read(units, all_columns(*source)).table, whole);
    std::vector<RowId> rows;
    std::vector<Column> taken;
    for (RowId row = 0; row < whole.num_rows(); row += 3) rows.push_back(row);
    for (const Column& column : whole.columns()) taken.push_back(take(column, rows));
    if (!taken.empty()) expect_equal(source->read_rows(rows, all_columns(*source)).table, Table(std::move(taken)));
    for (const int column : all_columns(*source)) expect_bounds(*source, column);
  }

  static void expect_bounds(const Source& source, int index) {
    const auto bounds = source.statistics(index);
    if (!bounds) return;
    for (std::size_t unit = 0; unit < source.units().size(); ++unit) {
      const Table rows = source.read(std::vector{unit}, std::vector{index}).table;
      const Column& column = rows.column(index);
      std::int64_t nulls = 0;
      for (std::int64_t row = 0; row < rows.num_rows(); ++row) {
        nulls += column.is_null(row) ? 1 : 0;
        if (column.is_null(row) || to_string(column.value(row)) == "nan") continue;
        const auto place = static_cast<std::int64_t>(unit);
        ASSERT_FALSE(bounds->min.is_null(place));
        EXPECT_LE(number_of(bounds->min.value(place)), number_of(column.value(row)));
        EXPECT_GE(number_of(bounds->max.value(place)), number_of(column.value(row)));
      }
      EXPECT_EQ(bounds->nulls[unit], nulls);
    }
  }

  TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Sizes, TextBlocks, ::testing::Values(16, 100, 1'000, 1 << 20));

/// Rows whose later columns change their type on the way.
std::string csv_rows(int rows, const std::string& line_break, bool quotes) {
  std::string text = "id,f,u,s,t,late,day,empty,flag" + line_break;
  for (int i = 0; i < rows; ++i) {
    text += std::to_string(i) + "," + (i % 7 == 0 ? std::to_string(i) : std::to_string(i) + ".5") + ",";
    text += i == rows / 2 ? "18446744073709551615," : std::to_string(i * 3) + ",";
    text += quotes && i % 5 == 0 ? "\"a \"\"b\"\"" + line_break + ", c\"," : "x" + std::to_string(i % 4) + ",";
    text += i < rows / 3 ? "2024-01-02," : "2024-01-02 03:04:05,";
    text += i < rows - 2 ? "," : "7,";
    text += quotes && i % 3 == 0 ? "\"\"," : "2023-12-3" + std::to_string(i % 2) + ",";
    text += ",";
    text += (i % 2 == 0 ? "true" : "NA") + line_break;
  }
  return text;
}

TEST_P(TextBlocks, CsvHasTheRowsOfTheWholeText) {
  for (const char* line_break : {"\n", "\r\n", "\r"}) {
    for (const bool quotes : {false, true}) {
      expect_as_whole({folder_.write("t.csv", csv_rows(97, line_break, quotes))});
    }
  }
  ReadOptions options;
  options.header = false;
  expect_as_whole({folder_.write("h.csv",
                                 "\xEF\xBB\xBF"
                                 "1,a\n2,\xEF\xBB\xBF"
                                 "b\n\n\xEF\xBB\xBF"
                                 "3,c")},
                  options);
  options.null_spellings = {"-"};
  options.delimiter = ';';
  expect_as_whole({folder_.write("n.csv", "1;a\n-;-\n3;c\n")}, options);
}

TEST_P(TextBlocks, SeveralFilesAreOneTable) {
  const auto a = folder_.write("a.csv", "x,y\n1,2024-01-01\n2,\n");
  const auto b = folder_.write("b.csv", "y,x\nsoon,3.5\n");
  expect_as_whole({a, b});
  const auto c = folder_.write("a.jsonl", "{\"x\": 1, \"y\": \"2024-01-01\"}\n");
  const auto d = folder_.write("b.jsonl", "{\"y\": \"soon\", \"x\": 2.5}\n{\"x\": null}\n");
  expect_as_whole({c, d});
  EXPECT_EQ(open({a, c}), nullptr);
  EXPECT_EQ(open({c, folder_.write("c.jsonl", "{\"x\": 1}\n")}), nullptr);
}

TEST_P(TextBlocks, JsonHasTheRowsOfTheWholeText) {
  std::string text;
  for (int i = 0; i < 120; ++i) {
    text += "{\"id\": " + std::to_string(i) + ", \"s\": \"v" + std::to_string(i % 9) + "\"";
    if (i % 11 == 3) text += ",\n \"f\": " + std::to_string(i) + (i > 80 ? ".25" : "");
    if (i > 40) text += ", \"b\": " + std::string(i % 2 == 0 ? "true" : "null") + ", \"day\": \"2024-01-02\"";
    if (i == 90) text += ", \"u\": 18446744073709551615, \"nested\": {\"x\": [1, \"}\\n\"]}";
    text += i % 10 == 0 ? "}\n\n" : "}\r\n";
  }
  const auto file = folder_.write("t.jsonl", text);
  expect_as_whole({file});
  const auto source = open({file});
  ASSERT_EQ(source->schema().unsupported().size(), 1U);
  EXPECT_EQ(source->schema().unsupported().front().name, "nested");
  ReadOptions options;
  options.columns = {"day", "id"};
  expect_as_whole({file}, options);
}

TEST_P(TextBlocks, BlocksOfNullSayNothingAboutTypes) {
  std::string text;
  for (int i = 0; i < 90; ++i) {
    const bool has_values = i < 30 || i >= 60;
    text += "{\"day\": " + std::string(has_values ? "\"2024-01-02\"" : "null") +
            ", \"i\": " + (has_values ? std::to_string(i) : "null") + (i < 60 ? "" : ".5") + ", \"u\": " +
            (i == 80      ? "18446744073709551615"
             : has_values ? "7"
                          : "null") +
            "}\n";
  }
  const auto file = folder_.write("t.jsonl", text);
  expect_as_whole({file});
  EXPECT_THAT(schema_of(read({file})), ElementsAre("day:date", "i:float64", "u:uint64"));
}

TEST_P(TextBlocks, ManyRandomTextsHaveTheTypesOfTheWholeText) {
  std::mt19937_64 random(29);
  const std::vector<std::string> values = {"1",
                                           "-2",
                                           "2.5",
                                           "",
                                           "\"\"",
                                           "true",
                                           "2024-01-01",
                                           "\"NA\"",
                                           "NA",
                                           "nan",
                                           "1e3",
                                           "text",
                                           "+4",
                                           "10:00:00",
                                           "0x1F",
                                           "\"5\"",
                                           "-0.0",
                                           "2024-01-01 10:00:00",
                                           "inf",
                                           " 7",
                                           "007",
                                           "+4512345678",
                                           "2024-01-01T10:00:00Z",
                                           "9999-12-31 23:59:59.999",
                                           "2024-01-01 10:00:00.5"};
  for (int round = 0; round < 60; ++round) {
    std::string text = "a,b\n";
    const auto kinds = 1 + random() % 3;
    const auto first = random() % values.size();
    for (int row = 0; row < 25; ++row) {
      text += values[(first + random() % kinds * (1 + round % 5)) % values.size()] + "," + std::to_string(row) + "\n";
    }
    const auto file = folder_.write("r.csv", text);
    SCOPED_TRACE(text);
    if (open({file}) != nullptr) expect_as_whole({file});
  }
}

TEST_P(TextBlocks, LateBlocksMayChangeTypes) {
  std::string csv = "zip,plus,at,day\n";
  std::string json;
  for (int i = 0; i < 80; ++i) {
    const std::string number = std::to_string(10'000 + i);
    const std::string time = "2024-01-02T10:00:" + std::to_string(10 + i % 50) + "Z";
    csv += (i == 70 ? "01220" : number) + "," + (i == 60 ? "+" : "") + number + "," + time + ",2024-01-02\n";
    json += "{\"zip\": \"" + number + "\", \"f\": " + (i == 65 ? "NaN" : number);
    json += ", \"w\": " +
            std::string(i == 75  ? "\"-Infinity\""
                        : i < 20 ? "\"NaN\""
                                 : "0.5") +
            ", \"at\": \"" + time + "\"";
    json += std::string(i == 50 ? ", \"late\": 7" : "") + "}\n";
  }
  const auto of_csv = folder_.write("t.csv", csv);
  const auto of_json = folder_.write("t.jsonl", json);
  expect_as_whole({of_csv});
  expect_as_whole({of_json});
  EXPECT_THAT(schema_of(read({of_csv})), ElementsAre("zip:string", "plus:int64", "at:timestamp[s]", "day:date"));
  EXPECT_THAT(schema_of(read({of_json})),
              ElementsAre("zip:string", "f:float64", "w:float64", "at:timestamp[s]", "late:int64"));
  ReadOptions options;
  for (const auto& [column, type] : {std::pair("zip", "int32"), std::pair("at", "timestamp"),
                                     std::pair("day", "string"), std::pair("plus", "float32")}) {
    options.types.emplace(column, parse_column_type(type, column));
  }
  expect_as_whole({of_csv}, options);
  options.types.erase("day");
  options.types.erase("plus");
  options.types.emplace("late", parse_column_type("string", "late"));
  expect_as_whole({of_json}, options);
  options.types.emplace("f", parse_column_type("int64", "f"));
  EXPECT_THAT(error_of<DataError>([&] { open({of_json}, options); }),
              HasSubstr("t.jsonl:66:23: column 'f' holds 'NaN'"));
  options.types = {{"day", parse_column_type("int64", "day")}};
  EXPECT_THAT(error_of<DataError>([&] { open({of_csv}, options); }),
              HasSubstr("t.csv:2: column 'day' holds '2024-01-02'"));
}

TEST_P(TextBlocks, WhatOnlyTheWholeTextTellsIsLeftToIt) {
  for (const char* text : {"a\n9007199254740993\n0.5\n", "a\n-1\n18446744073709551615\n", "a,\n1,\n2,\n", "a\n", "a",
                           "a\n2024-01-01 10:00:00\n2024-01-01 10:00:00.5\n"}) {
    const auto source = open({folder_.write("t.csv", text)});
    if (source == nullptr) continue;
    // In one block, the parser has the whole text.
    expect_as_whole({folder_ / "t.csv"});
  }
  for (const char* text : {"{\"a\": 1}\n{\"a\": \"x\"}\n", "{\"a\": -1}\n{\"a\": 18446744073709551615}\n"}) {
    EXPECT_EQ(open({folder_.write("t.jsonl", text)}), nullptr) << text;
  }
  EXPECT_EQ(open({folder_.write("empty.jsonl", "")}), nullptr);
  ReadOptions options;
  options.columns = {"none"};
  EXPECT_EQ(open({folder_.write("t.csv", "a\n1\n")}, options), nullptr);
  EXPECT_EQ(open({folder_.write("t.jsonl", "{\"a\": 1}\n")}, options), nullptr);
}

TEST_P(TextBlocks, MistakesHaveTheirPlaceInTheFile) {
  std::string csv = "a,b\n";
  std::string json;
  for (int i = 0; i < 50; ++i) {
    csv += i % 10 == 0 ? "1,\"x\ny\"\n" : "1,x\n";
    json += "{\"a\": 1}\n";
  }
  const auto refused = [&](const std::string& name, const std::string& text) {
    const auto file = folder_.write(name, text);
    std::string whole = error_of<DataError>([&] { read({file}); });
    EXPECT_EQ(error_of<DataError>([&] { open({file}); }), whole);
    return whole;
  };
  EXPECT_THAT(refused("t.csv", csv + "1,2,3\n"), HasSubstr("t.csv:57: expected 2 fields"));
  EXPECT_THAT(refused("t.csv", csv + "1,\"open\n"), HasSubstr("t.csv:57: a quoted field that begins here"));
  EXPECT_THAT(refused("t.csv", csv + "1,\xFF\n"), HasSubstr("t.csv:57: column 'b' is not valid UTF-8"));
  EXPECT_THAT(refused("t.jsonl", json + "{\"a\" 1}\n"), HasSubstr("t.jsonl:51:6: expected ':'"));
  EXPECT_THAT(refused("t.jsonl", json + "{\"a\": \"\xFF\"}\n"), HasSubstr("t.jsonl:51: the line is not valid UTF-8"));
  EXPECT_THAT(refused("t.jsonl", json + "{\"a\": 1, \"b\": [1 2]}\n"),
              HasSubstr("t.jsonl:51:18: the object is not valid JSON"));
  EXPECT_THAT(refused("t.jsonl", json + "{\"a\": 1"), HasSubstr("t.jsonl:51:8: the last object is cut short"));
}

TEST_P(TextBlocks, AFileThatShrinksIsAnError) {
  for (const char* name : {"t.csv", "t.jsonl"}) {
    const std::string row = std::string(name) == "t.csv" ? "1\n" : "{\"a\": 1}\n";
    std::string text = std::string(name) == "t.csv" ? "a\n" : "";
    for (int i = 0; i < 500; ++i) text += row;
    const auto file = folder_.write(name, text);
    const auto source = open({file});
    ASSERT_NE(source, nullptr);
    std::filesystem::resize_file(file, text.size() / 2);
    EXPECT_EQ(error_of<DataError>([&] { source->read(all_units(*source), std::vector{0}); }),
              file.string() + ": changed while it was read; run again when no other program writes to it");
  }
}

TEST_P(TextBlocks, CompressedTextThatIsCutShortIsDamaged) {
  folder_.write("t.csv.gz", "\x1F\x8B");
  EXPECT_THROW(open({folder_ / "t.csv.gz"}), DataError);
}

TEST(TextSource, ALimitOfMemoryIsAnsweredByParts) {
  const TemporaryFolder folder;
  std::string text = "id,x,name\n";
  for (int i = 0; i < 200'000; ++i) {
    text += std::to_string(i) + "," + std::to_string((i * 7919LL) % 200'003) + ",n" + std::to_string(i % 1'000) + "\n";
  }
  const auto file = folder.write("t.csv", text);
  ReadOptions options;
  options.block_bytes = 1 << 17;
  const auto source = open_source({file}, options);
  ASSERT_NE(source, nullptr);
  EXPECT_GT(source->units().size(), 10U);
  const Query top = Query::from("t").rank_by({high("x"), low("id")}).limit(20);
  const Query groups = Query::from("t").group_by({"name"}).aggregate({count("n")}).rank_by({high("n")}).limit(5);
  const Engine plain({.device = DeviceChoice::cpu});
  const Engine limited({.device = DeviceChoice::cpu, .memory_bytes = std::size_t{6} << 20});
  const Table whole = read({file});
  for (const Query& query : {top, groups}) {
    const Result expected = plain.run(query, whole);
    const Result found = limited.run(query, *source);
    EXPECT_EQ(found.rows, expected.rows);
    for (const Column& column : expected.table.columns()) {
      EXPECT_EQ(values_of(found.table, column.name()), values_of(expected.table, column.name()));
    }
  }
}

}  // namespace
}  // namespace skyrank::datasets
