// Timestamps of 96 bits in Parquet files, as Spark and Impala wrote them.
#include <arrow/io/file.h>
#include <parquet/column_writer.h>
#include <parquet/file_writer.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datasets/reader.hpp"
#include "datasets/source.hpp"
#include "tests/datasets/support.hpp"

namespace skyrank::datasets {
namespace {

using test::error_of;
using test::TemporaryFolder;
using test::values_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint32_t kEpoch = 2'440'588;  // 1970-01-01 as a Julian day
constexpr std::uint32_t kFirst = kEpoch - 106'752;
constexpr std::uint32_t kLast = kEpoch + 106'751;
constexpr std::int64_t kDay = 86'400'000'000'000;  // nanoseconds

/// A time as a file has it: nanoseconds from the midnight that begins a Julian day.
struct StoredTime {
  std::uint32_t day = 0;
  std::int64_t nanoseconds = kDay / 2;
};

/// Writes a column `t` of times, after one that is NULL, and a column `n` of integers.
std::filesystem::path write_times(const TemporaryFolder& folder, const std::vector<StoredTime>& times) {
  using parquet::schema::PrimitiveNode;
  const auto schema = std::static_pointer_cast<parquet::schema::GroupNode>(parquet::schema::GroupNode::Make(
      "schema", parquet::Repetition::REQUIRED,
      {PrimitiveNode::Make("t", parquet::Repetition::OPTIONAL, parquet::Type::INT96),
       PrimitiveNode::Make("n", parquet::Repetition::REQUIRED, parquet::Type::INT64)}));
  std::vector<parquet::Int96> values;
  std::vector<std::int16_t> levels = {0};
  std::vector<std::int64_t> numbers = {0};
  for (const auto& [day, nanoseconds] : times) {
    const auto bits = static_cast<std::uint64_t>(nanoseconds);
    values.push_back({{static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32), day}});
    levels.push_back(1);
    numbers.push_back(static_cast<std::int64_t>(numbers.size()));
  }
  const auto rows = static_cast<std::int64_t>(numbers.size());
  std::filesystem::path file = folder / "days.parquet";
  const auto out = arrow::io::FileOutputStream::Open(file.string()).ValueOrDie();
  const auto writer = parquet::ParquetFileWriter::Open(out, schema);
  parquet::RowGroupWriter* const group = writer->AppendRowGroup();
  static_cast<parquet::Int96Writer*>(group->NextColumn())->WriteBatch(rows, levels.data(), nullptr, values.data());
  static_cast<parquet::Int64Writer*>(group->NextColumn())->WriteBatch(rows, nullptr, nullptr, numbers.data());
  writer->Close();
  EXPECT_TRUE(out->Close().ok());
  return file;
}

std::shared_ptr<const Source> open(const std::filesystem::path& file) {
  TableSpec table;
  table.name = "days";
  table.files = {file.string()};
  return open_source(table, {}, LoadOptions{});
}

/// Expects the times of a file as all ways of reading it give them.
void expect_times(const std::vector<StoredTime>& times, const std::vector<std::string>& expected) {
  const TemporaryFolder folder;
  const auto file = write_times(folder, times);
  EXPECT_EQ(values_of(read({file.string()}), "t"), expected);
  EXPECT_EQ(values_of(open(file)->read(std::array{std::size_t{0}}, std::array{0}).table, "t"), expected);
  const auto last = static_cast<RowId>(times.size());
  EXPECT_THAT(values_of(open(file)->read_rows(std::array{last}, std::array{0}).table, "t"),
              ElementsAre(expected.back()));
}

TEST(Int96, TimestampsThatNanosecondsHoldAreRead) {
  expect_times({{kFirst}, {kEpoch}, {kLast}}, {"NULL", "1677-09-21 12:00:00.000000000", "1970-01-01 12:00:00.000000000",
                                               "2262-04-11 12:00:00.000000000"});
  // The least and the greatest of 64 bits.
  expect_times({{kFirst, 763'145'224'192}, {kLast, 85'636'854'775'807}},
               {"NULL", "1677-09-21 00:12:43.145224192", "2262-04-11 23:47:16.854775807"});
}

TEST(Int96, TimesThatCountBackFromMidnightAreRead) {
  expect_times({{kEpoch, -1}, {kEpoch, -1'000'000'000}, {kEpoch - 1, 1 - kDay}, {kFirst + 1, 763'145'224'192 - kDay}},
               {"NULL", "1969-12-31 23:59:59.999999999", "1969-12-31 23:59:59.000000000",
                "1969-12-30 00:00:00.000000001", "1677-09-21 00:12:43.145224192"});
}

TEST(Int96, OthersAreRefusedHoweverTheFileIsRead) {
  const TemporaryFolder folder;
  const std::vector<StoredTime> others = {{kFirst - 1},
                                          {kLast + 1},
                                          {kEpoch + 2'932'896},
                                          {0},
                                          {~0U},
                                          {kFirst, 763'145'224'191},
                                          {kLast, kDay - 1},
                                          {kFirst, -1},
                                          {kEpoch, kDay},
                                          {kEpoch, -kDay},
                                          {kEpoch, INT64_MIN},
                                          {kEpoch, INT64_MAX}};
  for (const StoredTime& other : others) {
    const auto file = write_times(folder, {{kEpoch}, other});
    const auto expect_refusal = [&](const auto& run) {
      EXPECT_THAT(error_of<DataError>(run), HasSubstr("column 't' has timestamps of 96 bits outside the years 1678"))
          << other.day << " " << other.nanoseconds;
    };
    expect_refusal([&] { static_cast<void>(read({file.string()})); });
    expect_refusal([&] { static_cast<void>(open(file)->read(std::array{std::size_t{0}}, std::array{0})); });
    expect_refusal([&] { static_cast<void>(open(file)->read_rows(std::array{RowId{1}}, std::array{0})); });
    EXPECT_THAT(values_of(open(file)->read(std::array{std::size_t{0}}, std::array{1}).table, "n"),
                ElementsAre("0", "1", "2"));
  }
}

}  // namespace
}  // namespace skyrank::datasets
