// The parser of JSON lines against another parser, on random texts in parts of all sizes, and where a text has no
// parts.
#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "datasets/file/input_file.hpp"
#include "datasets/json/json_lines.hpp"
#include "datasets/reader.hpp"
#include "tests/datasets/support.hpp"

namespace skyrank::datasets {
namespace {

using test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using Texts = std::vector<std::string>;

JsonText in_memory(const std::string& text, std::int64_t part_bytes, int threads = 2) {
  return {.file = open_buffer(arrow::Buffer::FromString(text), {}),
          .size = static_cast<std::int64_t>(text.size()),
          .name = "t",
          .threads = threads,
          .part_bytes = part_bytes};
}

/// Reads all columns that can be read.
std::shared_ptr<arrow::Table> read_table(const JsonText& text, bool take_along) {
  const ReadOptions all;
  JsonLines lines = scan_json_lines(text, take_along ? &all : nullptr);
  Texts names;
  for (const JsonColumn& column : lines.columns) {
    if (column.type != nullptr) names.push_back(column.name);
  }
  JsonReading reading{.values = std::exchange(lines.values, {})};
  return json_table(text, lines, names, std::move(reading));
}

/// Spells all values of a table, a row after the other.
std::string spelled(const arrow::Table& table) {
  std::string all;
  for (int c = 0; c < table.num_columns(); ++c) {
    all += table.field(c)->ToString() + "\n";
    for (std::int64_t row = 0; row < table.num_rows(); ++row) {
      all += (*table.column(c)->GetScalar(row))->ToString() + "\n";
    }
  }
  return all;
}

/// Returns why a text is no JSON lines; nothing where it is.
std::string error_of_parsing(const JsonText& text) {
  try {
    parse_parts(text, {}, [](const JsonPart& /*part*/) {});
    return {};
  } catch (const DataError& error) {
    return error.what();
  }
}

/// Returns what reading gives: the values, or the message of the error.
std::string outcome_of(const JsonText& text, bool take_along = true) {
  try {
    return spelled(*read_table(text, take_along));
  } catch (const DataError& error) {
    return error.what();
  }
}

class RandomJson {
 public:
  explicit RandomJson(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t end) { return random_() % end; }

  std::string space() {
    const Texts spaces = {"", "", "", " ", "\t", "\r\n", "\n", "\n{"};
    return spaces[below(spaces.size() - 1)];
  }

  std::string string() {
    const Texts pieces = {"a",   "b c",     "\xC3\xA9",       "\xF0\x9F\x98\x80",
                          "\\n", "\\\"",    "\\\\",           "{",
                          "}",   "\\u00e9", "\\ud83d\\ude00", "[],:",
                          "\\/", "\\u0000", "true",           "2024",
                          "\\t", "NaN"};
    std::string text = "\"x";
    for (std::size_t i = below(6); i > 0; --i) text += pieces[below(pieces.size())];
    return text + "\"";
  }

  std::string number() {
    const Texts numbers = {"0", "-0", "7", "-12", "9007199254740993", "123456789012345678"};
    return numbers[below(numbers.size())];
  }

  std::string decimal() {
    const Texts numbers = {"0.5", "-0.0", "1e3", "2E-7", "-1.25e+2", "12345.678901234567", "1e-400", "3", "-9"};
    return numbers[below(numbers.size())];
  }

  std::string nested(int level) {
    if (level > 4 || below(3) == 0) return below(2) == 0 ? string() : decimal();
    const bool is_object = below(2) == 0;
    std::string text = is_object ? "{" : "[";
    const std::size_t members = below(4);
    for (std::size_t i = 0; i < members; ++i) {
      text += i == 0 ? space() : "," + space();
      if (is_object) text += string() + space() + ":" + space();
      text += nested(level + 1) + space();
    }
    return text + (is_object ? "}" : "]");
  }

  std::string value(const std::string& key) {
    if (below(5) == 0) return "null";
    if (key == "i") return number();
    if (key == "f") return decimal();
    if (key == "s") return string();
    if (key == "b") return below(2) == 0 ? "true" : "false";
    return below(2) == 0 ? "{\"k\":" + nested(0) + "}" : "{}";
  }

  std::string record(const Texts& keys) {
    std::string text = "{" + space();
    bool is_first = true;
    for (const std::string& key : keys) {
      if (below(4) == 0) continue;
      if (!std::exchange(is_first, false)) text += "," + space();
      text += "\"" + key + "\"" + space() + ":" + space() + value(key) + space();
    }
    return text + "}" + (below(6) == 0 ? " " : "\n");
  }

  std::string records(std::size_t count) {
    Texts keys = {"i", "f", "s", "b", "n"};
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      if (below(4) == 0) std::swap(keys[below(keys.size())], keys[below(keys.size())]);
      text += record(keys);
    }
    return text;
  }

 private:
  std::mt19937_64 random_;
};

/// Parses objects that follow one another; nothing where the text is not valid, or has a number beyond float64.
std::optional<std::vector<Json>> expected_records(const std::string& text) {
  std::istringstream in(text);
  std::vector<Json> records;
  try {
    while (in >> std::ws && in.peek() != std::istringstream::traits_type::eof()) {
      Json record;
      in >> record;
      if (!record.is_object()) return std::nullopt;
      records.push_back(std::move(record));
    }
  } catch (const Json::parse_error&) {
    return std::nullopt;
  }
  return records;
}

/// Returns true for a text with a number beyond float64, which is JSON all the same.
bool has_huge_number(const std::string& text) {
  try {
    expected_records(text);
  } catch (const Json::out_of_range&) {
    return true;
  }
  return false;
}

void expect_value(const arrow::Scalar& value, const Json& record, const std::string& key) {
  const auto found = record.find(key);
  if (found == record.end() || found->is_null()) {
    ASSERT_FALSE(value.is_valid) << key;
    return;
  }
  ASSERT_TRUE(value.is_valid) << key;
  switch (value.type->id()) {
    case arrow::Type::BOOL: ASSERT_EQ(static_cast<const arrow::BooleanScalar&>(value).value, found->get<bool>()); break;
    case arrow::Type::INT64:
      ASSERT_EQ(static_cast<const arrow::Int64Scalar&>(value).value, found->get<std::int64_t>());
      break;
    case arrow::Type::DOUBLE:
      ASSERT_EQ(static_cast<const arrow::DoubleScalar&>(value).value, found->get<double>());
      break;
    default: ASSERT_EQ(value.ToString(), found->get<std::string>());
  }
}

TEST(JsonParts, HaveTheValuesOfAnotherParser) {
  RandomJson random(7);
  for (int round = 0; round < 300; ++round) {
    const std::string text = random.records(1 + random.below(40));
    SCOPED_TRACE(text);
    const auto records = expected_records(text);
    ASSERT_TRUE(records.has_value());
    const auto part_bytes = static_cast<std::int64_t>(1 + random.below(round % 2 == 0 ? 60 : 2000));
    const auto table = read_table(in_memory(text, part_bytes, 1 + round % 3), round % 5 != 0);
    ASSERT_TRUE(table->ValidateFull().ok());
    ASSERT_EQ(table->num_rows(), static_cast<std::int64_t>(records->size()));
    for (int c = 0; c < table->num_columns(); ++c) {
      for (std::int64_t row = 0; row < table->num_rows(); ++row) {
        expect_value(**table->column(c)->GetScalar(row), (*records)[static_cast<std::size_t>(row)],
                     table->field(c)->name());
      }
    }
  }
}

// A text that another parser takes is taken, and no other. Messages do not depend on parts and threads.
TEST(JsonParts, RefuseWhatAnotherParserRefuses) {
  RandomJson random(11);
  const std::string marks = "{}[]:,\"\\ \n\t01-.eu\x01\xFFtxN";
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = random.records(1 + random.below(4));
    for (std::size_t i = 1 + random.below(2); i > 0; --i) {
      const std::size_t place = random.below(text.size());
      switch (random.below(3)) {
        case 0: text[place] = marks[random.below(marks.size())]; break;
        case 1: text.erase(place, 1 + random.below(3)); break;
        default: text.insert(place, 1, marks[random.below(marks.size())]);
      }
    }
    SCOPED_TRACE(text);
    const std::string whole = outcome_of(in_memory(text, std::int64_t{1} << 20), false);
    for (const std::int64_t part_bytes : {1, 7, 40}) {
      ASSERT_EQ(outcome_of(in_memory(text, part_bytes, 1 + round % 2)), whole) << part_bytes;
    }
    const std::string error = error_of_parsing(in_memory(text, 1 << 20));
    // The other parser takes the former, and refuses the latter for its value.
    if (error.find("comes twice") != std::string::npos || has_huge_number(text)) continue;
    const auto records = expected_records(text);
    ASSERT_EQ(error.empty(), records.has_value()) << error;
    refused += error.empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 1000);
}

TEST(JsonParts, FollowTypesThatChangeBehindTheFirst) {
  const std::vector<std::pair<Texts, std::string>> cases = {
      {{"1", "-0", "0.5"}, "double"},
      {{"1", "2", "NaN"}, "double"},
      {{"1", "2", "\"-Infinity\""}, "double"},
      {{"1", "2", "18446744073709551615"}, "uint64"},
      {{"0.5", "2", "7"}, "double"},
      {{"null", "2", "7"}, "int64"},
      {{"\"NaN\"", "\"x\"", "\"Infinity\""}, "string"},
      {{"\"NaN\"", "null", "\"Infinity\""}, "double"},
      {{"\"2024-01-01\"", "\"2024-01-02\"", "\"soon\""}, "string"},
      {{"\"2024-01-01\"", "\"2024-01-02\"", "null"}, "date32[day]"},
      {{"true", "null", "false"}, "bool"},
      {{"[1]", "[]", "{}"}, ""},
      {{"1", "2", "\"x\""}, ""},
  };
  for (const auto& [values, type] : cases) {
    std::string text = "{\"first\": 1}\n";
    for (const std::string& value : values) text += "{\"a\": " + value + ", \"z\": 1}\n";
    SCOPED_TRACE(text);
    const std::string whole = outcome_of(in_memory(text, 1 << 20), false);
    for (const std::int64_t part_bytes : {1, 40, 60}) EXPECT_EQ(outcome_of(in_memory(text, part_bytes)), whole);
    EXPECT_THAT(whole, HasSubstr(type.empty() ? type : "a: " + type));
  }
}

TEST(JsonParts, MinusZeroKeepsItsSignAmongFloats) {
  const auto table = read_table(in_memory("{\"a\": -0}\n{\"a\": 0.5}\n", 1), true);
  EXPECT_EQ((*table->column(0)->GetScalar(0))->ToString(), "-0");
}

TEST(JsonParts, ARecordMaySpanAnyNumberOfThem) {
  std::string text = "{\"a\": 1}\n{\"list\": [";
  for (int i = 0; i < 1000; ++i) text += (i == 0 ? "\n{" : ",\n{") + std::string("\"x\": ") + std::to_string(i) + "}";
  text += "], \"a\": 2}\n{\"a\": 3}\n";
  for (const std::int64_t part_bytes : {1, 100, 5000}) {
    const auto table = read_table(in_memory(text, part_bytes), true);
    EXPECT_EQ((*table->GetColumnByName("a")->GetScalar(2))->ToString(), "3");
    const std::string broken = text + "{\"a\": x}\n";
    EXPECT_EQ(outcome_of(in_memory(broken, part_bytes)), "t:1004:7: expected a JSON value; texts need quotes");
  }
}

// No line begins with a record, so that each part ends within one.
TEST(JsonParts, RecordsMayBeginWithinLines) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "{\"a\":\n" + std::to_string(i) + ", \"s\": \"x\"} ";
  for (const std::int64_t part_bytes : {1, 10, 100, 1000}) {
    JsonText parts = in_memory(text, part_bytes);
    parts.max_record_bytes = std::max<std::int64_t>(100, 2 * part_bytes);
    const auto table = read_table(parts, true);
    ASSERT_EQ(table->num_rows(), 300);
    for (std::int64_t row = 0; row < 300; ++row) {
      ASSERT_EQ((*table->column(0)->GetScalar(row))->ToString(), std::to_string(row));
    }
    const std::string broken = text + "{\"a\":\nx}";
    EXPECT_EQ(outcome_of(in_memory(broken, part_bytes)), "t:302:1: expected a JSON value; texts need quotes");
  }
}

TEST(JsonParts, EscapesAreReplacedAndWrongOnesRefused) {
  const auto table = read_table(in_memory(R"({"\u0061\n": "\ud83d\ude00\u00e9\b\f\n\r\t\/\\\""})", 1 << 20), true);
  EXPECT_EQ(table->field(0)->name(), "a\n");
  EXPECT_EQ((*table->column(0)->GetScalar(0))->ToString(), "\xF0\x9F\x98\x80\xC3\xA9\b\f\n\r\t/\\\"");
  const std::vector<std::pair<std::string, int>> cases = {
      {R"(\x)", 8},     {R"(\u12G4)", 8},       {R"(\n\u00e9\q)", 16}, {R"(\u12)", 8},
      {R"(\ud83d)", 8}, {R"(\ud83d\u0041)", 8}, {R"(\ude00)", 8},      {R"(\ud83d\ude00\ud83d)", 20}};
  for (const auto& [escape, column] : cases) {
    const std::string place = "t:1:" + std::to_string(column) + ": the object is not valid JSON";
    EXPECT_EQ(outcome_of(in_memory("{\"a\":\"" + escape + "\"}\n", 1 << 20)), place) << escape;
    EXPECT_THAT(outcome_of(in_memory("{\"a\":[{\"" + escape + "\":1}]}\n", 1 << 20)), HasSubstr("is not valid JSON"));
  }
  EXPECT_EQ(outcome_of(in_memory("{\"a\":\"b\tc\"}\n", 1 << 20)), "t:1:8: the object is not valid JSON");
}

TEST(JsonParts, TheFirstMistakeIsReported) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{\"a\" 1}\n{\"b\": \"\xFF\"}\n", "t:1:6: expected ':' after the key 'a'"},
      {"{\"a\": 1}\n{\"b\": \"\xFF\"}\n{\"a\" 1}",
       "t:2: the line is not valid UTF-8; state the 'encoding' of the file, such as windows-1252, or convert it to "
       "UTF-8"},
      {"{\"a\": 1}\n{\"b\": \"x\n\xFF\"}\n", "t:2:9: a string is not closed by a quote"},
      {"{\"a\": 1}\n{\"b\": \"x\r\n", "t:2:10: a string is not closed by a quote"},
      {"{\"a\": 12\"b\"}", "t:1:9: expected ',' or '}' after a value"},
      {"{\"a\": \"b\"c}", "t:1:10: expected ',' or '}' after a value"},
      {"{\"a\": truely}", "t:1:11: expected ',' or '}' after a value"},
      {"{\"a\": nul}", "t:1:7: expected a JSON value; texts need quotes"},
      {"{\"a\": -}", "t:1:7: - is no number of JSON, such as 12, -0.5 or 1e3"},
      {"{\"a\": 1.}", "t:1:7: 1. is no number of JSON, such as 12, -0.5 or 1e3"},
      {"{\"a\": 1e}", "t:1:7: 1e is no number of JSON, such as 12, -0.5 or 1e3"},
      {"{\"a\": 1,}", "t:1:9: expected a key in quotes"},
      {"{\"a\": [1,]}", "t:1:10: the object is not valid JSON"},
      {"{\"a\": [01]}", "t:1:8: the object is not valid JSON"},
      {"{\"a\": {1: 2}}", "t:1:8: the object is not valid JSON"},
      {"{\"a\": {\"b\", 2}}", "t:1:11: the object is not valid JSON"},
      {"{\"a\": [1x]}", "t:1:9: the object is not valid JSON"},
      {"{\"a\": [1\"x\"]}", "t:1:9: the object is not valid JSON"},
      {"{\"a\": [1}}", "t:1:9: the object is not valid JSON"},
      {"{\"a\": [NaN, -Infinity, Infinite]}", "t:1:24: the object is not valid JSON"},
      {"{\"a\":\n1} {\"b\": \"\u00e9\"} {\"a\" 2}\n", "t:2:20: expected ':' after the key 'a'"},
      {"{\"a\": [1, {\"b\": 2", "t:1:18: the last object is cut short"},
      {"{\\\"a\": 1}", "t:1:2: expected a key in quotes"},
      {std::string("{\"a\": 1}\n\0", 10), "t:2:1: expected a JSON object, such as {\"a\": 1}, on each line"},
  };
  for (const auto& [text, message] : cases) {
    for (const std::int64_t part_bytes : {1, 1 << 20}) {
      EXPECT_EQ(outcome_of(in_memory(text, part_bytes)), message) << text;
    }
  }
}

TEST(JsonParts, LimitsHoldInEachOfThem) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "{\"k" + std::to_string(i) + "\": 1}\n";
  JsonText keys = in_memory(text, 20);
  keys.max_keys = 10;
  EXPECT_THAT(error_of<ResourceError>([&] { scan_json_lines(keys); }), HasSubstr("t:11: there are more than 10 keys"));
  JsonText record = in_memory("{\"a\": 1}\n{\"a\": \"" + std::string(5000, 'x') + "\"}\n", 20);
  record.max_record_bytes = 1000;
  EXPECT_THAT(error_of<ResourceError>([&] { scan_json_lines(record); }),
              HasSubstr("t:2: a record is longer than 1 kB"));
  JsonText lines = in_memory("{\"a\": 1}\n{\"a\": [" + std::string(5000, '\n') + "]}\n", 20);
  lines.max_record_bytes = 1000;
  EXPECT_THAT(error_of<ResourceError>([&] { scan_json_lines(lines); }), HasSubstr("t:2: a record is longer than 1 kB"));
}

TEST(JsonParts, NamesBringTheValuesOfChosenColumns) {
  const test::TemporaryFolder folder;
  const auto file = folder.write("t.jsonl", "{\"a\": 1, \"b\": 2, \"c\": null}\n{\"a\": 3, \"late\": 4}\n");
  ReadOptions options;
  options.pipes = make_pipe_cache();
  Texts offered;
  options.choose_columns = [&](const Texts& names) {
    offered = names;
    return Texts{"a", "c", "none"};
  };
  EXPECT_THAT(column_names({file}, options).names, ElementsAre("a", "b", "c", "late"));
  const JsonValuesByName& values = InputFile(file, options).json_lines().values;
  ASSERT_EQ(values.size(), 1U);
  EXPECT_EQ((*values.at("a").front()->GetScalar(1))->ToString(), "3");
  for (int i = 0; i < 2; ++i) {
    options.columns = {"late", "a"};
    const Table table = read({file}, options);
    EXPECT_THAT(test::values_of(table, "a"), ElementsAre("1", "3"));
    EXPECT_THAT(test::values_of(table, "late"), ElementsAre("NULL", "4"));
  }
  folder.write("t.jsonl", "{\"a\": 5}\n{\"late\": 6.5}\n{}\n");
  EXPECT_THAT(test::values_of(read({file}, options), "late"), ElementsAre("NULL", "6.5", "NULL"));
}

TEST(JsonParts, AStopEndsParsing) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "{\"a\": 1}\n";
  JsonText stopped = in_memory(text, 20);
  std::stop_source stop;
  stopped.stop = stop.get_token();
  int parts = 0;
  EXPECT_THAT(error_of<CancelledError>([&] {
                parse_parts(stopped, {}, [&](const JsonPart&) {
                  if (++parts == 3) stop.request_stop();
                });
              }),
              HasSubstr("was cancelled"));
  EXPECT_LT(parts, 20);
}

}  // namespace
}  // namespace skyrank::datasets
