#include "datasets/reader.hpp"
#include "tests/datasets/support.hpp"

namespace skyrank::datasets {
namespace {

using test::error_of;
using test::schema_of;
using test::values_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Table parse(std::string_view text, const ReadOptions& options = {}) { return read_csv(text, "t.csv", options); }

std::string refusal(std::string_view text, const ReadOptions& options = {}) {
  return error_of<DataError>([&] { parse(text, options); });
}

ReadOptions no_header() {
  ReadOptions options;
  options.header = false;
  return options;
}

ReadOptions only(std::vector<std::string> columns) {
  ReadOptions options;
  options.columns = std::move(columns);
  return options;
}

// Types

TEST(Csv, QuotedEmptyFieldsAreNullAmongOtherValuesThanText) {
  const Table table = parse(
      "i,f,b,d,t,u,s,n,q\n"
      "1,0.5,true,2020-01-01,2020-01-01 12:00:00,18446744073709551615,x,1,\"\"\n"
      "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"NA\",\"\"\n"
      "NULL,NULL,NULL,NULL,NULL,NULL,NULL,\"\",\n");
  EXPECT_THAT(schema_of(table), ElementsAre("i:int64", "f:float64", "b:bool", "d:date", "t:timestamp[s]", "u:uint64",
                                            "s:string", "n:string", "q:string"));
  for (const char* column : {"i", "f", "b", "d", "t", "u"}) {
    EXPECT_TRUE(table.column(column).is_null(1)) << column;
    EXPECT_TRUE(table.column(column).is_null(2)) << column;
    EXPECT_FALSE(table.column(column).is_null(0)) << column;
  }
  EXPECT_THAT(values_of(table, "s"), ElementsAre("x", "", "NULL"));
  EXPECT_THAT(values_of(table, "n"), ElementsAre("1", "NA", ""));
  EXPECT_THAT(values_of(table, "q"), ElementsAre("", "", "NULL"));
}

TEST(Csv, AnEmptyLastFieldIsNullBehindAFieldInQuotes) {
  for (const std::string end : {"", "\n", "\r\n"}) {
    const Table table = parse("a,b,c\n\"x\",\"\",true\n\"y\",\"1\"," + end);
    EXPECT_THAT(schema_of(table), ElementsAre("a:string", "b:int64", "c:bool"));
    ASSERT_EQ(table.num_rows(), 2);
    EXPECT_TRUE(table.column("c").is_null(1));
    const Table texts = parse("a\tb\n\"x\"\ty\n\"z\"\t" + end, [] {
      ReadOptions options;
      options.delimiter = '\t';
      return options;
    }());
    EXPECT_TRUE(texts.column("b").is_null(1));
  }
}

TEST(Csv, InfersTheTypeOfEachColumn) {
  const Table table = parse(
      "i,u,f,b,d,t,s\n"
      "-1,18446744073709551615,1.5,true,2020-02-29,2020-01-01 12:30:00,x\n"
      "9223372036854775807,0,2,false,1969-12-31,1969-12-31 23:59:59,\n");
  EXPECT_THAT(schema_of(table),
              ElementsAre("i:int64", "u:uint64", "f:float64", "b:bool", "d:date", "t:timestamp[s]", "s:string"));
  EXPECT_THAT(values_of(table, "i"), ElementsAre("-1", "9223372036854775807"));
  EXPECT_THAT(values_of(table, "u"), ElementsAre("18446744073709551615", "0"));
  EXPECT_THAT(values_of(table, "f"), ElementsAre("1.5", "2"));
  EXPECT_THAT(values_of(table, "b"), ElementsAre("true", "false"));
  EXPECT_THAT(values_of(table, "d"), ElementsAre("2020-02-29", "1969-12-31"));
  EXPECT_THAT(values_of(table, "t"), ElementsAre("2020-01-01 12:30:00", "1969-12-31 23:59:59"));
  EXPECT_THAT(values_of(table, "s"), ElementsAre("x", "NULL"));
}

// The first megabytes say nothing about the last line.
TEST(Csv, InfersTypesFromTheWholeFile) {
  std::string lines;
  for (int i = 0; i < 700'000; ++i) lines += "12\n";
  EXPECT_THAT(schema_of(parse("a\n" + lines)), ElementsAre("a:int64"));
  EXPECT_THAT(schema_of(parse("a\n" + lines + "0.5\n")), ElementsAre("a:float64"));
  EXPECT_THAT(schema_of(parse("a\n" + lines + "9223372036854775808\n")), ElementsAre("a:uint64"));
  const Table strings = parse("a\n" + lines + "abc\n");
  EXPECT_THAT(schema_of(strings), ElementsAre("a:string"));
  EXPECT_EQ(strings.num_rows(), 700'001);
  EXPECT_EQ(std::get<std::string>(strings.column(0).value(0)), "12");
  EXPECT_EQ(std::get<std::string>(strings.column(0).value(700'000)), "abc");
}

TEST(Csv, KeepsEveryDigitOfIntegers) {
  EXPECT_THAT(values_of(parse("a\n9007199254740993\n-9223372036854775808\n"), "a"),
              ElementsAre("9007199254740993", "-9223372036854775808"));
  const Table table = parse("a\n9223372036854775809\n\nNULL\n9223372036854775807\n");
  EXPECT_THAT(schema_of(table), ElementsAre("a:uint64"));
  EXPECT_THAT(values_of(table, "a"), ElementsAre("9223372036854775809", "NULL", "9223372036854775807"));
}

TEST(Csv, RefusesIntegersThatNoTypeHolds) {
  EXPECT_THAT(
      refusal("a,b\n1,1\n2,-1\n3,9223372036854775808\n"),
      AllOf(StartsWith("t.csv:4: column 'b'"), HasSubstr("9223372036854775808"), HasSubstr("neither int64 nor")));
  EXPECT_THAT(refusal("a\n18446744073709551616\n"), StartsWith("t.csv:2: column 'a'"));
  EXPECT_THAT(refusal("a\n1\n-9223372036854775809\n"), StartsWith("t.csv:3: column 'a'"));
  // A column that is not wanted cannot be wrong.
  EXPECT_THAT(values_of(parse("a,b\n1,18446744073709551616\n", only({"a"})), "a"), ElementsAre("1"));
}

TEST(Csv, IntegersAmongFloatsAreFloatsWhereNoDigitIsLost) {
  const Table table = parse("a\n1.5\n18446744073709551616\n-9007199254740994\n9007199254740992\n+9007199254740994\n");
  EXPECT_THAT(schema_of(table), ElementsAre("a:float64"));
  EXPECT_EQ(std::get<double>(table.column(0).value(1)), 0x1p64);
  EXPECT_EQ(std::get<double>(table.column(0).value(2)), -0x1p53 - 2);
  EXPECT_THAT(refusal("b,a\n1,1.5\n2,9007199254740992\n3,9007199254740993\n"),
              AllOf(StartsWith("t.csv:4: column 'a' holds floats and the integer 9007199254740993"),
                    HasSubstr("decimal point")));
  for (const std::string integer : {"-9007199254740993", "+9007199254740993", "\"9007199254740993\"",
                                    "18446744073709551617", "123456789012345678901234567890"}) {
    EXPECT_THAT(refusal("a\n0.5\n" + integer + "\n"), StartsWith("t.csv:3: column 'a' holds floats")) << integer;
    EXPECT_THAT(refusal("a\n" + integer + "\nnan\n"), StartsWith("t.csv:2: column 'a' holds floats")) << integer;
  }
  // The nearest double of what says that it is one.
  EXPECT_THAT(values_of(parse("a\n0.5\n9007199254740993.0\n1.8014398509481985e16\n"), "a"),
              ElementsAre("0.5", "9007199254740992", "1.8014398509481984e+16"));
}

TEST(Csv, FloatsAreTheNearestDoubles) {
  const Table table = parse(
      "a\n0.1\n1e-320\n4.9406564584124654e-324\n1.7976931348623157e308\n1e-400\n"
      "2.2250738585072011e-308\n0.500000000000000166533453693773481063544750213623046875\n-0.0\n");
  const auto value = [&](int row) { return std::get<double>(table.column(0).value(row)); };
  EXPECT_EQ(value(0), 0.1);
  EXPECT_EQ(value(1), 1e-320);
  EXPECT_EQ(value(2), 5e-324);
  EXPECT_EQ(value(3), std::numeric_limits<double>::max());
  EXPECT_EQ(value(4), 0.0);
  EXPECT_EQ(value(5), 2.2250738585072011e-308);
  EXPECT_EQ(value(6), 0.50000000000000022204460492503131);
  EXPECT_TRUE(std::signbit(value(7)));
}

TEST(Csv, NanAndInfinityAreFloats) {
  const Table table = parse("a\nnan\nNaN\ninf\n-Infinity\n1\n");
  EXPECT_THAT(schema_of(table), ElementsAre("a:float64"));
  EXPECT_THAT(values_of(table, "a"), ElementsAre("nan", "nan", "inf", "-inf", "1"));
}

TEST(Csv, RefusesNumbersBeyondFloat64) {
  EXPECT_THAT(refusal("a,b\n1,0.5\n2,1e400\n"),
              AllOf(StartsWith("t.csv:3: column 'b'"), HasSubstr("holds 1e400, which is beyond float64")));
  EXPECT_THAT(refusal("a\ninf\n0.5\n-1.5E+309\n"), StartsWith("t.csv:4: column 'a'"));
  EXPECT_THAT(refusal("a\n0.5\n1" + std::string(400, '0') + "\n"), StartsWith("t.csv:3: column 'a'"));
}

TEST(Csv, MixedTypesBecomeStringsAsTheyAreSpelled) {
  EXPECT_THAT(values_of(parse("a\n007\nx\n"), "a"), ElementsAre("007", "x"));
  EXPECT_THAT(values_of(parse("a\ntrue\n1\n"), "a"), ElementsAre("true", "1"));
  EXPECT_THAT(values_of(parse("a\n2020-01-01\n5\n"), "a"), ElementsAre("2020-01-01", "5"));
  EXPECT_THAT(values_of(parse("a\n12:30:00\n"), "a"), ElementsAre("12:30:00"));
  EXPECT_THAT(values_of(parse("a\n2020-02-30\n"), "a"), ElementsAre("2020-02-30"));
}

TEST(Csv, DatesAmongTimestampsAreTheirMidnight) {
  const Table table = parse("a\n2020-01-01\n2020-01-01T06:00:00\n2020-01-01 06:00\n");
  EXPECT_THAT(schema_of(table), ElementsAre("a:timestamp[s]"));
  EXPECT_THAT(values_of(table, "a"), ElementsAre("2020-01-01 00:00:00", "2020-01-01 06:00:00", "2020-01-01 06:00:00"));
}

TEST(Csv, FractionsAndZonesOfTimestamps) {
  const Table fractions = parse("a\n2020-01-01 00:00:00.25\n2020-01-01 00:00:01\n");
  EXPECT_THAT(schema_of(fractions), ElementsAre("a:timestamp[ns]"));
  EXPECT_THAT(values_of(fractions, "a"), ElementsAre("2020-01-01 00:00:00.250000000", "2020-01-01 00:00:01.000000000"));
  const Table zones = parse("a\n2020-01-01 00:00:00+01:00\n2020-01-01T00:00:00Z\n");
  EXPECT_THAT(schema_of(zones), ElementsAre("a:timestamp[s]"));
  EXPECT_THAT(values_of(zones, "a"), ElementsAre("2019-12-31 23:00:00", "2020-01-01 00:00:00"));
}

// NULL

TEST(Csv, DefaultSpellingsOfNull) {
  const Table table = parse("a,b\n,1\nNULL,2\nnull,3\nNA,4\nN/A,5\nNone,6\n");
  EXPECT_THAT(values_of(table, "a"), ElementsAre("NULL", "NULL", "NULL", "NULL", "NULL", "None"));
}

TEST(Csv, GivenSpellingsOfNullReplaceTheDefaults) {
  ReadOptions options;
  options.null_spellings = {"-", "?"};
  const Table table = parse("a,b\n1,NULL\n-,x\n?,?\n,\n", options);
  EXPECT_THAT(schema_of(table), ElementsAre("a:int64", "b:string"));
  EXPECT_THAT(values_of(table, "a"), ElementsAre("1", "NULL", "NULL", "NULL"));
  EXPECT_FALSE(table.column("b").is_null(0));
  EXPECT_TRUE(table.column("b").is_null(2));
}

TEST(Csv, QuotedFieldsAreNeverNull) {
  const Table table = parse("a,b\n\"\",1\n\"NULL\",2\n,3\n");
  EXPECT_FALSE(table.column("a").is_null(0));
  EXPECT_EQ(std::get<std::string>(table.column("a").value(0)), "");
  EXPECT_EQ(std::get<std::string>(table.column("a").value(1)), "NULL");
  EXPECT_TRUE(table.column("a").is_null(2));
}

TEST(Csv, AColumnWithoutValuesIsFloat64) {
  const Table table = parse("a,b\n1,\n2,NA\n");
  EXPECT_THAT(schema_of(table), ElementsAre("a:int64", "b:float64"));
  EXPECT_THAT(values_of(table, "b"), ElementsAre("NULL", "NULL"));
}

// Form

TEST(Csv, QuotedFieldsHoldAnything) {
  const Table table = parse("\"a\nname\",b\n\"x,y\",1\n\"two\r\nlines\",2\n\"say \"\"hi\"\"\",3\n");
  EXPECT_THAT(schema_of(table), ElementsAre("a\nname:string", "b:int64"));
  EXPECT_THAT(values_of(table, "a\nname"), ElementsAre("x,y", "two\r\nlines", "say \"hi\""));
}

TEST(Csv, LineBreaksByteOrderMarkAndEmptyLines) {
  for (const std::string_view text : {"a,b\n1,2\n3,4\n", "a,b\r\n1,2\r\n3,4", "a,b\r1,2\r3,4\r",
                                      "\xEF\xBB\xBF"
                                      "a,b\n1,2\n3,4\n",
                                      "\n\na,b\n\n1,2\n\n\n3,4\n\n"}) {
    const Table table = parse(text);
    EXPECT_THAT(schema_of(table), ElementsAre("a:int64", "b:int64")) << text;
    EXPECT_THAT(values_of(table, "a"), ElementsAre("1", "3")) << text;
    EXPECT_THAT(values_of(table, "b"), ElementsAre("2", "4")) << text;
  }
}

TEST(Csv, AByteOrderMarkAfterTheHeaderIsData) {
  const std::string mark = "\xEF\xBB\xBF";
  for (const std::string header : {"a\n", "a\r", "a\r\n"}) {
    EXPECT_THAT(values_of(parse(header + mark + "\n1\n"), "a"), ElementsAre(mark, "1"));
  }
}

TEST(Csv, WithoutHeader) {
  const Table table = parse("1,x\n2,y\n", no_header());
  EXPECT_THAT(schema_of(table), ElementsAre("c0:int64", "c1:string"));
  EXPECT_EQ(table.num_rows(), 2);
  EXPECT_THAT(values_of(parse("\xEF\xBB\xBF"
                              "5\n",
                              no_header()),
                        "c0"),
              ElementsAre("5"));
}

TEST(Csv, DropsATrailingColumnWithoutNameAndValues) {
  EXPECT_THAT(schema_of(parse("1,2,\n3,4,\n", no_header())), ElementsAre("c0:int64", "c1:int64"));
  EXPECT_THAT(schema_of(parse("a,b,\n1,2,\n3,4,\n")), ElementsAre("a:int64", "b:int64"));
  EXPECT_THAT(schema_of(parse("a,b,\n")), ElementsAre("a:float64", "b:float64"));
  EXPECT_THAT(schema_of(parse("1,2,\n3,4,5\n", no_header())), ElementsAre("c0:int64", "c1:int64", "c2:int64"));
  EXPECT_THAT(schema_of(parse("a,b,\n1,2,\n3,4,5\n")), ElementsAre("a:int64", "b:int64", "c2:int64"));
  EXPECT_THAT(schema_of(parse("a,b,c\n1,2,\n3,4,\n")), ElementsAre("a:int64", "b:int64", "c:float64"));
  EXPECT_THAT(schema_of(parse("1,2,NA\n3,4,\n", no_header())), ElementsAre("c0:int64", "c1:int64", "c2:float64"));
}

TEST(Csv, ColumnsWithoutNameAreNumbered) {
  EXPECT_THAT(schema_of(parse(",a\n0,5\n")), ElementsAre("c0:int64", "a:int64"));
  EXPECT_THAT(refusal("c1,\n1,2\n"), HasSubstr("the column name 'c1' comes twice"));
}

TEST(Csv, OnlyTheWantedColumnsInTheWantedOrder) {
  const Table table = parse("a,b,c\n1,2,x\n3,4,y\n", only({"c", "a"}));
  EXPECT_THAT(schema_of(table), ElementsAre("c:string", "a:int64"));
  const Table none = parse("a,b\n1,2\n3,4\n", only({}));
  EXPECT_EQ(none.num_columns(), 0);
  EXPECT_EQ(none.num_rows(), 2);
  EXPECT_THAT(refusal("a,b\n1,2\n", only({"z"})), AllOf(StartsWith("t.csv: "), HasSubstr("no column 'z'")));
}

TEST(Csv, AHeaderAloneIsAnEmptyTable) {
  const Table table = parse("a,b\n");
  EXPECT_EQ(table.num_rows(), 0);
  EXPECT_THAT(schema_of(table), ElementsAre("a:float64", "b:float64"));
  EXPECT_EQ(parse("a,b").num_rows(), 0);
  EXPECT_EQ(parse("a,b\n\n", only({})).num_rows(), 0);
}

TEST(Csv, SameResultForAnyNumberOfThreads) {
  std::string text = "a,b,c\n";
  for (int i = 0; i < 200'000; ++i) {
    text += std::to_string(i) + ",\"line\n" + std::to_string(i * 7) + "\"," + (i % 3 == 0 ? "" : "0.5") + "\n";
  }
  ReadOptions serial;
  serial.threads = 1;
  const Table one = parse(text, serial);
  const Table many = parse(text);
  ASSERT_EQ(one.num_rows(), 200'000);
  ASSERT_EQ(many.num_rows(), 200'000);
  EXPECT_EQ(schema_of(one), schema_of(many));
  for (std::int64_t row = 0; row < 200'000; row += 997) {
    for (int c = 0; c < 3; ++c) ASSERT_EQ(one.column(c).value(row), many.column(c).value(row)) << row << " " << c;
  }
}

// A record larger than any block that the parser starts with.
TEST(Csv, LinesOfManyMegabytes) {
  const std::string big(10'000'000, 'x');
  const Table unquoted = parse("a,b\n1," + big + "\n2,y\n");
  ASSERT_EQ(unquoted.num_rows(), 2);
  EXPECT_EQ(unquoted.column("b").data().string_at(0).size(), big.size());
  const Table quoted = parse("a,b\n1,\"" + big + "\n" + big + "\"\n2,y\n");
  ASSERT_EQ(quoted.num_rows(), 2);
  EXPECT_EQ(quoted.column("b").data().string_at(0).size(), 2 * big.size() + 1);
  EXPECT_EQ(quoted.column("b").data().string_at(1), "y");
  std::string wide = "1";
  for (int i = 1; i < 10'000; ++i) wide += ",1";
  EXPECT_EQ(parse(wide + "\n" + wide + "\n", no_header()).num_columns(), 10'000);
}

// Errors

TEST(CsvErrors, EmptyFile) {
  for (const std::string_view text : {"", "\n", "\r\n\r\n", "\xEF\xBB\xBF"}) {
    EXPECT_THAT(refusal(text), AllOf(StartsWith("t.csv: "), HasSubstr("the file is empty"))) << text;
    EXPECT_THAT(refusal(text, no_header()), HasSubstr("the file is empty")) << text;
  }
}

TEST(CsvErrors, RaggedLinesHaveTheirLine) {
  EXPECT_THAT(refusal("a,b\n1,2\n3\n"),
              AllOf(StartsWith("t.csv:3: "), HasSubstr("expected 2 fields"), HasSubstr("found 1")));
  EXPECT_THAT(refusal("a,b\n\n1,\"x\ny\"\n3,4,5\n"), AllOf(StartsWith("t.csv:5: "), HasSubstr("found 3")));
  EXPECT_THAT(refusal("1\n1,2\n", no_header()), AllOf(StartsWith("t.csv:2: "), HasSubstr("expected 1 field ")));
  // Also when the fields in excess are empty, and far down.
  std::string text = "a,b\n";
  for (int i = 0; i < 500'000; ++i) text += "1,2\n";
  EXPECT_THAT(refusal(text + "1,2,\n"), StartsWith("t.csv:500002: "));
}

TEST(CsvErrors, DuplicateNames) {
  EXPECT_THAT(refusal("a,b,a\n1,2,3\n"),
              AllOf(StartsWith("t.csv:1: "), HasSubstr("the column name 'a' comes twice, for fields 1 and 3")));
}

TEST(CsvErrors, NulInAName) {
  EXPECT_THAT(refusal(std::string_view("a\0b,c\n1,2\n", 10)), HasSubstr("NUL"));
  EXPECT_EQ(parse(std::string_view("a,b\nx\0y,2\n", 10)).column("a").data().string_at(0), std::string_view("x\0y", 3));
}

TEST(CsvErrors, QuotesThatNeverClose) {
  EXPECT_THAT(refusal("a,b\n1,2\n3,\"open\n4,5\n"), AllOf(StartsWith("t.csv:3: "), HasSubstr("never closed")));
  EXPECT_THAT(refusal("a,\"b\n1,2\n"), AllOf(StartsWith("t.csv:1: "), HasSubstr("never closed")));
  EXPECT_THAT(refusal("\"", no_header()), HasSubstr("never closed"));
}

TEST(CsvErrors, InvalidUtf8) {
  EXPECT_THAT(refusal("a,b\n1,ok\n2,caf\xE9\n"),
              AllOf(StartsWith("t.csv:3: column 'b'"), HasSubstr("not valid UTF-8")));
  EXPECT_THAT(refusal("a,b\n1,\"x\ny\xFF\"\n"), StartsWith("t.csv:2: column 'b'"));
  EXPECT_THAT(refusal("a\xC0\n1\n"), AllOf(StartsWith("t.csv:1: "), HasSubstr("not valid UTF-8")));
  EXPECT_THAT(refusal(std::string_view("\xFF\xFE"
                                       "a\0\n\0",
                                       6)),
              HasSubstr("UTF-16"));
  EXPECT_THAT(values_of(parse("a\ncafé\n日本\n"), "a"), ElementsAre("café", "日本"));
}

}  // namespace
}  // namespace skyrank::datasets
