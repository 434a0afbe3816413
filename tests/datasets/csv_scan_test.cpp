#include "datasets/csv/csv_scan.hpp"

#include "tests/datasets/support.hpp"

namespace skyrank::datasets {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Record {
  std::int64_t line;
  std::vector<std::string> fields;
  bool operator==(const Record&) const = default;
};

std::vector<Record> records_of(std::string_view text, char delimiter = ',') {
  std::vector<Record> records;
  CsvScanner scanner(text, delimiter);
  while (scanner.next()) {
    records.push_back({scanner.line(), {}});
    for (const CsvField& field : scanner.fields()) records.back().fields.push_back(field.text());
  }
  return records;
}

TEST(CsvScanner, SplitsRecordsAndFields) {
  EXPECT_THAT(records_of("a,b\n1,2\n"), ElementsAre(Record{1, {"a", "b"}}, Record{2, {"1", "2"}}));
  EXPECT_THAT(records_of("a\tb,c", '\t'), ElementsAre(Record{1, {"a", "b,c"}}));
  EXPECT_THAT(records_of(",,\n"), ElementsAre(Record{1, {"", "", ""}}));
}

TEST(CsvScanner, KnowsEveryLineBreak) {
  EXPECT_THAT(records_of("a\r\nb\rc\nd"),
              ElementsAre(Record{1, {"a"}}, Record{2, {"b"}}, Record{3, {"c"}}, Record{4, {"d"}}));
}

TEST(CsvScanner, SkipsEmptyLinesButCountsThem) {
  EXPECT_THAT(records_of("\n\na\n\r\n\nb\n\n"), ElementsAre(Record{3, {"a"}}, Record{6, {"b"}}));
  EXPECT_THAT(records_of(""), IsEmpty());
  EXPECT_THAT(records_of("\n\r\n"), IsEmpty());
}

TEST(CsvScanner, QuotedFieldsHoldDelimitersQuotesAndLineBreaks) {
  EXPECT_THAT(records_of("\"a,b\",\"c\"\"d\"\n\"x\r\ny\nz\",1\nlast,2\n"),
              ElementsAre(Record{1, {"a,b", "c\"d"}}, Record{2, {"x\r\ny\nz", "1"}}, Record{5, {"last", "2"}}));
}

TEST(CsvScanner, QuotesCountAtTheStartOfAFieldOnly) {
  EXPECT_THAT(records_of("a\"b,\"c\"d\"e\n"), ElementsAre(Record{1, {"a\"b", "cd\"e"}}));
}

TEST(CsvScanner, SkipsTheByteOrderMark) {
  EXPECT_THAT(records_of("\xEF\xBB\xBF"
                         "a,b\n"),
              ElementsAre(Record{1, {"a", "b"}}));
  EXPECT_THAT(records_of("\xEF\xBB\xBF"), IsEmpty());
}

TEST(CsvScanner, TellsUnterminatedQuotesAndTheirLine) {
  CsvScanner scanner("a,b\n\"1\n2\",\"open\nstill", ',');
  ASSERT_TRUE(scanner.next());
  EXPECT_FALSE(scanner.unterminated());
  ASSERT_TRUE(scanner.next());
  EXPECT_TRUE(scanner.unterminated());
  EXPECT_EQ(scanner.line(), 2);
  EXPECT_EQ(scanner.line_of(1), 3);
  EXPECT_FALSE(scanner.next());
}

TEST(CsvScanner, EndIsTheOffsetAfterTheRecord) {
  CsvScanner scanner("ab,c\r\n1,2", ',');
  ASSERT_TRUE(scanner.next());
  EXPECT_EQ(scanner.end(), 6U);
  ASSERT_TRUE(scanner.next());
  EXPECT_EQ(scanner.end(), 9U);
}

// The walk from quote to quote sees what the walk over all fields sees.
TEST(LookAtQuotes, AgreesWithTheScanner) {
  std::uint64_t random = 88172645463325252ULL;
  const auto next = [&](std::size_t n) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::size_t>(random >> 33) % n;
  };
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    const std::size_t length = next(14);
    for (std::size_t i = 0; i < length; ++i) text += "\"\",,\na\r"[next(7)];
    CsvQuotes expected;
    expected.any = text.find('"') != std::string::npos;
    CsvScanner scanner(text, ',');
    while (scanner.next()) {
      expected.unterminated = scanner.unterminated();
      for (const CsvField& field : scanner.fields()) {
        const bool is_last = &field == &scanner.fields().back();
        if (!field.quoted || (is_last && scanner.unterminated())) continue;
        expected.empty = expected.empty || field.raw == "\"\"";
        expected.line_breaks = expected.line_breaks || field.raw.find_first_of("\r\n") != std::string::npos;
      }
    }
    const CsvQuotes quotes = look_at_quotes(text, ',');
    ASSERT_EQ(quotes.any, expected.any) << testing::PrintToString(text);
    ASSERT_EQ(quotes.unterminated, expected.unterminated) << testing::PrintToString(text);
    ASSERT_EQ(quotes.empty, expected.empty) << testing::PrintToString(text);
    ASSERT_EQ(quotes.line_breaks, expected.line_breaks) << testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace skyrank::datasets
