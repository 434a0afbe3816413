// Types of columns of text: CSV and JSON lines infer the same, codes stay text, and types may be stated.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "datasets/reader.hpp"
#include "datasets/write/writer.hpp"
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
using ::testing::StartsWith;

using Texts = std::vector<std::string>;

ReadOptions stated(const std::vector<std::pair<std::string, std::string>>& types) {
  ReadOptions options;
  for (const auto& [column, type] : types) options.types.emplace(column, parse_column_type(type, column));
  return options;
}

class TextTypes : public ::testing::Test {
 protected:
  static std::string csv_of(const Texts& values) {
    std::string text = "a,n\n";
    for (const std::string& value : values) text += value + ",1\n";
    return text;
  }
  static std::string json_of(const Texts& values) {
    std::string text;
    for (const std::string& value : values) text += "{\"a\": \"" + value + "\", \"n\": 1}\n";
    return text;
  }
  Table csv(const Texts& values, const ReadOptions& options = {}) {
    return read({folder_.write("t.csv", csv_of(values))}, options);
  }
  Table json(const std::string& text, const ReadOptions& options = {}) {
    return read({folder_.write("t.jsonl", text)}, options);
  }
  static std::string type_of(const Table& table) { return to_string(table.column("a").type()); }

  TemporaryFolder folder_;
};

TEST_F(TextTypes, CodesAreTextWhereverTheyAre) {
  for (const std::string code : {"02134", "00", "0045", "-007", "+01", "007.5", "0x1F", "0XFFFFFFFFFFFFFFFF",
                                 "+4512345678", "+1234567", "+123456789012345", "\"02134\"", " 02134"}) {
    for (const Texts& values : {Texts{"94107", code, "3"}, Texts{code, "94107"}, Texts{"0.5", "94107", code}}) {
      const Table table = csv(values);
      EXPECT_EQ(type_of(table), "string") << code;
      EXPECT_EQ(values_of(table, "n").size(), values.size());
      Texts expected = values;
      for (std::string& value : expected) std::erase(value, '"');
      EXPECT_EQ(values_of(table, "a"), expected) << code;
    }
  }
  for (const std::string phone : {"+45 12 34 56 78", "(555) 123-4567", "555-1234", "0045 12345678"}) {
    EXPECT_EQ(values_of(csv({"1", phone}), "a"), (Texts{"1", phone}));
  }
}

TEST_F(TextTypes, NumbersStayNumbers) {
  for (const Texts& values : {Texts{"0", "-0", "10"}, Texts{"+1", "+5", "-3"}, Texts{"9007199254740993", "+1"},
                              Texts{"+9007199254740993", "100"}, Texts{"\"+1\"", "\"\"", "2"}, Texts{" +1", "7"}}) {
    EXPECT_EQ(type_of(csv(values)), "int64") << values.front();
  }
  EXPECT_THAT(values_of(csv({"9007199254740993", "+1"}), "a"), ElementsAre("9007199254740993", "1"));
  EXPECT_EQ(type_of(csv({"18446744073709551615", "+1"})), "uint64");
  for (const Texts& values :
       {Texts{"0.5", "0", "0e5"}, Texts{"+0.5", "1"}, Texts{"1e+05", "1E-05"}, Texts{"-0.0", ".5"}}) {
    EXPECT_EQ(type_of(csv(values)), "float64") << values.front();
  }
  EXPECT_EQ(type_of(csv({"2020-01-05", "2020-02-01"})), "date");
}

TEST_F(TextTypes, JsonLinesAndCsvInferTimesAlike) {
  const std::vector<std::pair<std::string, Texts>> cases = {
      {"timestamp[s]", {"2026-04-29T12:00:00+02:00", "2026-04-29T11:00:00Z", "2026-04-29T06:30:00-05:00"}},
      {"timestamp[ns]", {"2026-04-29T12:00:00.5+02:00", "2026-04-29T11:00:00Z"}},
      {"timestamp[ns]", {"2020-05-05 10:00:00.5", "2020-05-05 10:00:00"}},
      {"timestamp[us]", {"2020-05-05 10:00:00.5", "9999-12-31 23:59:59.999"}},
      {"timestamp[us]", {"0001-01-01 00:00:00.000001", "9999-12-31T23:59:59.999999"}},
      {"timestamp[us]", {"9999-12-31T23:59:59.999Z", "2020-05-05T10:00:00Z"}},
      {"timestamp[s]", {"9999-12-31 23:59:59", "2020-05-05"}},
      {"date", {"2020-05-05", "9999-12-31"}},
      {"string", {"2026-04-29T12:00:00+02:00", "2026-04-29T11:00:00"}},
      {"string", {"2020-05-05 10:00:00.123456789", "9999-12-31 23:59:59.999"}},
      {"string", {"2020-05-05", "soon"}},
      {"string", {"12:30:00", "07:00:00"}},
  };
  for (const auto& [type, values] : cases) {
    const Table of_csv = csv(values);
    const Table of_json = json(json_of(values));
    EXPECT_EQ(type_of(of_csv), type) << values.front();
    EXPECT_EQ(type_of(of_json), type) << values.front();
    EXPECT_EQ(values_of(of_csv, "a"), values_of(of_json, "a"));
  }
  EXPECT_EQ(type_of(csv({"9999-12-31 23:59:59.999", "\"\""})), "timestamp[us]");
}

TEST_F(TextTypes, FilesOfAFolderAgreeOnCodesAndUnits) {
  const auto numbers = folder_.write("a.csv", csv_of({"94107"}));
  const auto codes = folder_.write("b.csv", csv_of({"01220"}));
  EXPECT_THAT(values_of(read({numbers, codes}), "a"), ElementsAre("94107", "01220"));
  EXPECT_THAT(values_of(read({codes, numbers}), "a"), ElementsAre("01220", "94107"));
  const auto now = folder_.write("now.csv", csv_of({"2020-05-05 10:00:00.5"}));
  const auto end = folder_.write("end.csv", csv_of({"9999-12-31 23:59:59.999"}));
  EXPECT_EQ(type_of(read({now, end})), "timestamp[us]");
  const auto zone = folder_.write("zone.csv", csv_of({"2020-05-05T10:00:00Z"}));
  const auto fraction = folder_.write("fraction.csv", csv_of({"2020-05-05T10:00:00.5Z"}));
  EXPECT_EQ(type_of(read({zone, fraction})), "timestamp[ns]");
}

TEST_F(TextTypes, NanAndInfinityAreNumbersOfJsonLines) {
  const Table table =
      json("{\"a\": \"NaN\", \"b\": 1}\n{\"a\": 1.5, \"b\": NaN}\n{\"a\": -Infinity, \"c\": [NaN, -Infinity]}\n");
  EXPECT_THAT(values_of(table, "a"), ElementsAre("nan", "1.5", "-inf"));
  EXPECT_EQ(type_of(json("{\"a\": NaN}\n{\"a\": 2}\n{\"b\": \"NaN Infinity\"}\n")), "float64");
  EXPECT_EQ(type_of(json("{\"a\": \"Infinity\"}\n{\"a\": \"NaN\"}\n")), "float64");
  EXPECT_THAT(values_of(json("{\"a\": \"NaN\"}\n{\"a\": \"x\"}\n"), "a"), ElementsAre("NaN", "x"));
  EXPECT_THAT(error_of<DataError>([&] { json("{\"a\": NaN}\n{\"a\": \"x\"}\n"); }),
              HasSubstr(":2:7: column 'a' is a text here"));
  EXPECT_THAT(error_of<DataError>([&] { json("{\"a\": NaNs}\n"); }), HasSubstr(":1:10: expected ',' or '}'"));
  EXPECT_THAT(error_of<DataError>([&] { json("{\"a\": Inf}\n"); }), HasSubstr(":1:7: expected a JSON value"));
}

TEST_F(TextTypes, AnswersWithNanAreReadBack) {
  const Table answer = csv({"nan", "1.5", "inf", "-inf"});
  const auto file = folder_.write("answer.jsonl", "");
  std::filesystem::remove(file);
  write(answer, file, Format::jsonl);
  EXPECT_THAT(values_of(read({file}), "a"), ElementsAre("nan", "1.5", "inf", "-inf"));
}

TEST_F(TextTypes, TypesMayBeStated) {
  const std::vector<std::pair<std::string, Texts>> cases = {
      {"string", {"94107", "12", "1e5"}},
      {"int64", {"007", "+4512345678", "-1"}},
      {"uint8", {"0", "255"}},
      {"float64", {"1", "9007199254740993", "nan"}},
      {"float32", {"0.5", "007"}},
      {"bool", {"true", "FALSE"}},
      {"date", {"2020-01-01"}},
      {"timestamp[ms]", {"2020-01-01", "2020-01-01T00:00:00.123Z"}},
      {"decimal(12,2)", {"0.10", "5", "-1e3"}}};
  for (const auto& [type, values] : cases) {
    EXPECT_EQ(type_of(csv(values, stated({{"a", type}}))), type);
    EXPECT_EQ(type_of(json(json_of(values), stated({{"a", type}}))), type);
  }
  EXPECT_EQ(type_of(csv({"2020-01-01", "9999-12-31T00:00:00.5"}, stated({{"a", "timestamp"}}))), "timestamp[us]");
  EXPECT_THAT(values_of(csv({"1.50", "", "2"}, stated({{"a", "string"}})), "a"), ElementsAre("1.50", "NULL", "2"));
  EXPECT_THAT(values_of(csv({"\"\"", "007"}, stated({{"a", "int64"}})), "a"), ElementsAre("NULL", "7"));
  const Table mixed =
      json("{\"a\": 1}\n{\"a\": \"x\\n\"}\n{}\n{\"a\": true}\n{\"a\": [1, 2]}\n", stated({{"a", "string"}}));
  EXPECT_THAT(values_of(mixed, "a"), ElementsAre("1", "x\n", "NULL", "true", "[1, 2]"));
}

TEST_F(TextTypes, MistakesInStatedTypesHaveTheirPlace) {
  EXPECT_THAT(error_of<DataError>([&] {
                csv({"1", "x"}, stated({{"a", "int64"}}));
              }),
              HasSubstr("t.csv:3: column 'a' holds 'x', which is no value of type int64"));
  for (const auto& one : std::vector<std::pair<std::string, std::string>>{{"int64", "0xFFFFFFFFFFFFFFFF"},
                                                                          {"int8", "128"},
                                                                          {"uint8", "-1"},
                                                                          {"int64", "1.5"},
                                                                          {"float64", "1e400"},
                                                                          {"bool", "1"},
                                                                          {"date", "2020-02-30"},
                                                                          {"timestamp", "soon"},
                                                                          {"decimal(3,1)", "100"},
                                                                          {"decimal(3,1)", "0.25"}}) {
    const auto& type = one.first;
    const auto& value = one.second;
    EXPECT_THAT(error_of<DataError>([&] {
                  csv({"", value}, stated({{"a", type}}));
                }),
                HasSubstr("t.csv:3: column 'a' holds '" + value + "', which is no value of type " + type));
    EXPECT_THAT(error_of<DataError>([&] {
                  json("{}\n{\"n\": 1, \"a\": \"" + value + "\"}\n", stated({{"a", type}}));
                }),
                HasSubstr("t.jsonl:2:15: column 'a' holds '" + value + "', which is no value of type " + type));
  }
  EXPECT_THAT(error_of<DataError>([&] {
                csv({"1"}, stated({{"aa", "int64"}}));
              }),
              HasSubstr("there is no column 'aa', for which 'types' says int64; did you mean 'a'?"));
  EXPECT_THAT(error_of<DataError>([] {
                parse_column_type("strng", "zip", {"batch.yaml", 2, 3});
              }),
              StartsWith("batch.yaml:2:3: column 'zip': unknown type 'strng'; did you mean 'string'?"));
  for (const std::string type : {"", "decimal(39,2)", "decimal(4,5)", "timestamp[m]", "float16"}) {
    EXPECT_THAT(error_of<DataError>([&] { parse_column_type(type, "a"); }), HasSubstr("unknown type"));
  }
}

TEST_F(TextTypes, FilesOfColumnsKeepTheirTypes) {
  const auto file = folder_.write("t.parquet", "");
  std::filesystem::remove(file);
  write(csv({"94107"}), file, Format::parquet);
  EXPECT_EQ(type_of(read({file}, stated({{"a", "int64"}}))), "int64");
  for (const bool as_source : {false, true}) {
    EXPECT_THAT(error_of<DataError>([&] {
                  if (as_source) open_source({file}, stated({{"a", "string"}}));
                  read({file}, stated({{"a", "string"}}));
                }),
                HasSubstr("t.parquet: column 'a' is int64 in the file, and not string"));
  }
}

TEST_F(TextTypes, FoldersMayHaveStatedTypes) {
  std::filesystem::create_directory(folder_ / "zip=94107");
  const auto file = folder_.write("zip=94107/t.csv", csv_of({"1"}));
  ReadOptions options = stated({{"zip", "string"}});
  options.folder_root = std::filesystem::path(file).parent_path().parent_path();
  EXPECT_THAT(schema_of(read({file}, options)), ElementsAre("a:int64", "n:int64", "zip:string"));
  options.types = stated({{"zip", "date"}}).types;
  EXPECT_THAT(error_of<DataError>([&] { read({file}, options); }),
              HasSubstr("holds '94107', which is no value of type date"));
}

TEST_F(TextTypes, MessagesNameTheNumberInTheWay) {
  EXPECT_THAT(error_of<DataError>([&] {
                csv({"12345678901234567890", "99999999999999999999"});
              }),
              AllOf(HasSubstr("t.csv:3:"), HasSubstr("such as 99999999999999999999;")));
  EXPECT_THAT(error_of<DataError>([&] { json("{\"a\": 12345678901234567890}\n{\"a\": 99999999999999999999}\n"); }),
              AllOf(HasSubstr("t.jsonl:2:7:"), HasSubstr("such as 99999999999999999999;")));
  EXPECT_THAT(error_of<DataError>([&] {
                csv({"-1", "12345678901234567890"});
              }),
              AllOf(HasSubstr("t.csv:3:"), HasSubstr("such as 12345678901234567890 beside -1;")));
}

}  // namespace
}  // namespace skyrank::datasets
