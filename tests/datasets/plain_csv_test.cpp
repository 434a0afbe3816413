#include "datasets/csv/plain_csv.hpp"

#include <arrow/buffer.h>
#include <arrow/table.h>

#include "datasets/arrow/arrow_table.hpp"
#include "datasets/csv/csv.hpp"
#include "tests/datasets/support.hpp"

namespace skyrank::datasets {
namespace {

using test::error_of;
using test::schema_of;
using test::TemporaryFolder;
using test::values_of;
using ::testing::ElementsAre;
using ::testing::StartsWith;

/// Columns with their types and values; nothing where a reader gave no table.
using Content = std::optional<std::vector<std::vector<std::string>>>;

Content content_of(const std::shared_ptr<arrow::Table>& read) {
  if (read == nullptr) return std::nullopt;
  const Table table = to_skyrank(read, "t.csv");
  std::vector<std::vector<std::string>> content = {schema_of(table)};
  for (const Column& column : table.columns()) content.push_back(values_of(table, column.name()));
  return content;
}

Content plain(const std::string& text, const ReadOptions& options, const PlainCsvBytes& bytes) {
  ReadMeter meter({});
  const CsvFile file{open_buffer(arrow::Buffer::FromString(text), {}), "t.csv", options.delimiter.value_or(',')};
  return content_of(plain_csv_table(file, options, meter, bytes));
}

Content whole(const std::string& text, const ReadOptions& options) {
  ReadMeter meter({});
  try {
    return content_of(
        csv_table({arrow::Buffer::FromString(text), "t.csv", options.delimiter.value_or(',')}, options, {}, meter));
  } catch (const DataError&) {
    return std::nullopt;
  }
}

/// Expects that a text whose first `sample` bytes tell its types is plain wherever its blocks end. None of its records
/// has more than `block` bytes.
void expect_plain(const std::string& text, std::int64_t sample, std::int64_t block, const ReadOptions& options = {}) {
  const Content expected = whole(text, options);
  ASSERT_TRUE(expected) << text;
  for (std::int64_t more = 0; more < 2 * block; ++more) {
    const Content read = plain(text, options, {.sample = sample, .block = block + more});
    ASSERT_TRUE(read) << text << block + more;
    ASSERT_EQ(*read, *expected) << text << block + more;
  }
}

void expect_not_plain(const std::string& text, const ReadOptions& options = {}) {
  EXPECT_FALSE(plain(text, options, {.sample = 16, .block = 64})) << text;
}

TEST(PlainCsv, Numbers) {
  expect_plain(
      "i,f\n1,0.5\n-20,-1.25\n300,1e3\n7,-0.0\n-0,12\n,\nNA,null\n\t8 , 0.1 \n\"9\",\"2.5\"\n\"\",\"\"\n"
      "9223372036854775807,1E-5\n-9223372036854775808,1e-400\n\n\n5,nan\n6,+3\n7,2.2250738585072011e-308\n"
      "8,0.500000000000000166533453693773481063544750213623046875\n9,-9007199254740991\n10,0.1\n11,.5\n12,5.\n13,1",
      12, 60);
}

TEST(PlainCsv, Texts) {
  expect_plain(
      "s,i,t\nab,1,\xC3\xA9\n\"a,b\",2,\"\"\n\"say \"\"x\"\"\",3,\xF0\x9F\x98\x80\xC3\xA9\nNULL,4,\"NULL\"\n,5,a\"b\n"
      "\"\",6,7\r\n12:30:00,7,true\r\n2020-01-01,8, NA \n\"\"\"\",9,\"\"\"\"\"\"\n",
      16, 24);
  // Line breaks in quotes, but none where a block ends.
  EXPECT_EQ(plain("s,i\na,1\nb,2\n\"c\n\rd\",3\ne,4\n", {}, {.sample = 10, .block = 64}),
            whole("s,i\na,1\nb,2\n\"c\n\rd\",3\ne,4\n", {}));
}

TEST(PlainCsv, ColumnsInAnyOrder) {
  std::string text = "a,b,c,d\n";
  for (int i = 0; i < 40; ++i) text += std::to_string(i) + ",\"x,\"\"y\"," + std::to_string(i) + ".5,2020-01-01\r\n";
  ReadOptions options;
  options.columns = {"c", "a"};  // not the dates, which are not plain
  expect_plain(text, 80, 40, options);
  options.columns = {"b"};
  expect_plain(text, 80, 40, options);
  options.threads = 1;
  expect_plain(text, 80, 40, options);
}

TEST(PlainCsv, WithoutHeaderAndWithOtherDelimiters) {
  ReadOptions options;
  options.header = false;
  for (const char delimiter : {'\t', ';', ' ', '|', 'x'}) {
    options.delimiter = delimiter;
    std::string text = "\xEF\xBB\xBF";
    for (int i = 0; i < 30; ++i) text += std::to_string(i) + delimiter + "0.25" + delimiter + "a,b\n";
    expect_plain(text, 24, 16, options);
  }
  expect_plain("a\n1\n\n2\n\"3\"\r\n\r\n4\n", 4, 8);
}

TEST(PlainCsv, GivenSpellingsOfNull) {
  ReadOptions options;
  options.null_spellings = {"-", "nan"};
  expect_plain("a,b,c\n1,0.5,x\n-,-,-\nnan,nan,nan\n2,1.5,NULL\n", 15, 16, options);
}

TEST(PlainCsv, WhatIsNotPlain) {
  for (const std::string line : {"1", "1,0.5,", "x,0.5", "1.5,0.5", "1,x", "1,9007199254740992", "1,inf", "1,1e400",
                                 "9223372036854775808,1", "\"NULL\",1", "1,\"1", "1,\"1\"0\r", "1\r2,1"}) {
    expect_not_plain("a,b\n1,0.5\n2,1.5\n3,2.5\n" + line + "\n4,3.5\n");
  }
  expect_not_plain("a\n1\n2\n3\n4\n5\n6\n7\n" + std::string(100, '8') + "\n");  // a long record
  expect_not_plain("a,s\n1,x\n2,y\n3,z\n4,\xC3\n5,u\n6,v\n");                   // no UTF-8
  for (const std::string field : {"true", "2020-01-01", "2020-01-01 10:00:00", "18446744073709551615", "NULL"}) {
    expect_not_plain("a\n" + field + "\n" + field + "\n" + field + "\n" + field + "\n");
  }
  ReadOptions options;
  options.null_spellings = {"-999"};
  expect_not_plain("a\n1\n2\n3\n4\n5\n6\n7\n-999\n8\n", options);
  options.null_spellings.clear();
  options.delimiter = '.';
  expect_not_plain("a.b\n1.5\n2.5\n3.5\n4.5\n5.5\n", options);
  options.delimiter = ',';
  options.columns = {"c"};
  expect_not_plain("a,b\n1,5\n2,5\n3,5\n4,5\n5,5\n", options);
}

// A text is either plain, and has the values that it has as a whole, or left to the other reader.
TEST(PlainCsv, AgreesWithTheWholeText) {
  std::uint64_t random = 88172645463325252ULL;
  const auto next = [&](std::size_t n) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::size_t>(random >> 33) % n;
  };
  const std::vector<std::vector<std::string>> usual = {
      {"0", "1", "-7", "12", "00012", "-0", "9223372036854775807", ""},
      {"0.5", "-1.25", "3", "1e-5", "12345.678901234567", "0.30000000000000004", "nan", "NA", "8.5E3"},
      {"a", "bc", "\"d,e\"", "\"f\"\"g\"", "\xC3\xA9", "x\"y", "NULL", "", "\"\"", "12"}};
  const std::vector<std::string> unusual = {"\"\"", "\"1\"",    "+1",       " 2 ",   "1.",   ".5",
                                            "0x10", "\"NULL\"", "true",     "1e400", "inf",  "\r",
                                            "\"\n", "\"a\"b",   "\"a\nb\"", "1,2",   "\xC3", "9007199254740993"};
  int plain_texts = 0;
  constexpr int kRounds = 1'000;
  for (int round = 0; round < kRounds; ++round) {
    std::string text = "i,f,s\n";
    const bool carriage = next(4) == 0;
    const std::size_t oddness = next(3) == 0 ? 20 : 1'000;
    const std::size_t rows = 8 + next(20);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t field = 0; field < usual.size(); ++field) {
        const auto& values = next(oddness) == 0 ? unusual : usual[field];
        text += (field == 0 ? "" : ",") + values[next(values.size())];
      }
      text += carriage ? "\r\n" : "\n";
      if (next(oddness) == 0) text += "\n";
    }
    if (next(2) == 0) text.pop_back();
    const auto sample = static_cast<std::int64_t>(40 + next(80));
    const auto block = static_cast<std::int64_t>(48 + next(100));
    const Content read = plain(text, {}, {.sample = sample, .block = block});
    if (!read) continue;
    ++plain_texts;
    ASSERT_EQ(read, whole(text, {})) << testing::PrintToString(text) << " in blocks of " << block;
  }
  EXPECT_GT(plain_texts, kRounds / 4);
}

TEST(PlainCsv, AFileThatTurnsOutNotToBePlainIsReadAgain) {
  const TemporaryFolder folder;
  std::string lines = "a,b\n";
  for (int i = 0; i < 500'000; ++i) lines += std::to_string(i) + ",x\n";
  for (const int threads : {1, 2}) {
    std::vector<std::uint64_t> done;
    std::uint64_t total = 0;
    ReadOptions options;
    options.threads = threads;
    options.progress = [&](std::uint64_t bytes, std::uint64_t of) {
      done.push_back(bytes);
      total = of;
    };
    const Table table = read({folder.write("t.csv", lines + "0.5,y\n")}, options);
    EXPECT_THAT(schema_of(table), ElementsAre("a:float64", "b:string"));
    EXPECT_EQ(std::get<double>(table.column("a").value(500'000)), 0.5);
    EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
    EXPECT_EQ(done.back(), total);
    const auto ragged = folder.write("u.csv", lines + "1\n");
    EXPECT_THAT(error_of<DataError>([&] { read({ragged}, options); }),
                StartsWith(ragged.string() + ":500002: expected 2 fields"));
  }
}

TEST(PlainCsv, CanBeCancelled) {
  std::string text = "a\n";
  for (int i = 0; i < 100; ++i) text += "1\n";
  std::stop_source stop;
  ReadOptions options;
  options.stop = stop.get_token();
  stop.request_stop();
  EXPECT_THAT(error_of<CancelledError>([&] { plain(text, options, {.sample = 16, .block = 16}); }),
              StartsWith("reading t.csv was cancelled"));
}

}  // namespace
}  // namespace skyrank::datasets
