#include "datasets/generate/generate_file.hpp"

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "datasets/generate/generate.hpp"
#include "datasets/reader.hpp"
#include "datasets/write/writer.hpp"
#include "tests/datasets/formats.hpp"
#include "tests/datasets/support.hpp"

namespace skyrank::datasets {
namespace {

using test::content_of;
using test::error_of;
using test::kFormats;
using test::schema_of;
using test::TemporaryFolder;
using test::values_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Four times the bytes of 1,024 rows, the smallest blocks.
std::size_t memory_of_smallest_blocks(std::size_t row_bytes) { return 4 * 1024 * row_bytes; }

void expect_same_table(const std::filesystem::path& file, const Table& expected, const std::string& name) {
  const Table table = read({file});
  EXPECT_EQ(schema_of(table), schema_of(expected)) << name;
  for (const Column& column : expected.columns()) {
    EXPECT_EQ(values_of(table, column.name()), values_of(expected, column.name())) << name << " " << column.name();
  }
}

TEST(GenerateFile, HasTheRowsOfTheTableForAnyBlocks) {
  const TemporaryFolder folder;
  for (const auto& distribution : distributions()) {
    const GeneratorSpec spec{std::string(distribution.name), 2'500, 3, 7};
    const Table whole = generate(spec);
    for (const Format format : {Format::parquet, Format::arrow}) {
      const auto file = folder / ("t." + std::string(to_string(format)));
      generate_file(spec, file, format, {.memory_bytes = memory_of_smallest_blocks(12)});
      expect_same_table(file, whole, spec.distribution);
      EXPECT_THAT(open_source({file})->units(), ElementsAre(SourceUnit{1024}, SourceUnit{1024}, SourceUnit{452}));
    }
  }
}

TEST(GenerateFile, OfTweets) {
  const TemporaryFolder folder;
  for (const auto& own : tables_with_own_columns()) {
    const GeneratorSpec spec{std::string(own.name), 3'000, 1, 7};
    for (const Format format : {Format::parquet, Format::arrow}) {
      const auto file = folder / ("t." + std::string(to_string(format)));
      generate_file(spec, file, format, {.memory_bytes = memory_of_smallest_blocks(33)});
      expect_same_table(file, generate(spec), spec.distribution);
      EXPECT_EQ(open_source({file})->units().size(), 3U);
    }
  }
}

TEST(GenerateFile, IsTheFileOfTheWholeTableWhereOneBlockHoldsIt) {
  const TemporaryFolder folder;
  for (const char* name : {"anticorrelated", "tweets-shuffled"}) {
    for (const std::int64_t rows : {0, 1, 5'000}) {
      const GeneratorSpec spec{name, rows, 1, 3};
      for (const Format format : kFormats) {
        write(generate(spec), folder / "whole", format);
        for (const int threads : {1, 3}) {
          generate_file(spec, folder / "blocks", format, {.threads = threads});
          EXPECT_TRUE(content_of(folder / "blocks") == content_of(folder / "whole")) << name << " " << rows;
        }
      }
    }
  }
}

TEST(GenerateFile, TextDoesNotDependOnTheBlocks) {
  const TemporaryFolder folder;
  const GeneratorSpec spec{"increasing", 5'000, 2, 3};
  for (const Format format : {Format::csv, Format::jsonl}) {
    generate_file(spec, folder / "large", format);
    generate_file(spec, folder / "small", format, {.memory_bytes = memory_of_smallest_blocks(8)});
    EXPECT_TRUE(content_of(folder / "large") == content_of(folder / "small")) << to_string(format);
  }
}

TEST(GenerateFile, RefusesTooLittleMemory) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of<ResourceError>([&] {
              generate_file({"uniform", 5'000, 2, 3}, folder / "t", Format::csv, {.memory_bytes = 20'000});
            }),
            "generating takes about 32768 bytes of memory, and the limit is 20000");
  EXPECT_EQ(error_of<ResourceError>([&] {
              generate_file({"uniform", 5'000, 64, 3}, folder / "t", Format::csv, {.memory_bytes = 1000});
            }),
            "generating takes about 1048576 bytes of memory, and the limit is 1000");
  EXPECT_THAT(folder.content(), IsEmpty());
}

TEST(GenerateFile, RefusesWhatGenerateRefusesBeforeAFileIsThere) {
  const TemporaryFolder folder;
  folder.write("old", "untouched");
  EXPECT_EQ(error_of<BindError>([&] {
              generate_file({"unifrom", 5, 2, 3}, folder / "old", Format::csv);
            }),
            "there is no distribution 'unifrom'; did you mean 'uniform'?");
  EXPECT_EQ(error_of<QueryError>([&] {
              generate_file({"uniform", -5, 2, 3}, folder / "old", Format::csv);
            }),
            "rows must be 0 or more, not -5");
  EXPECT_EQ(content_of(folder / "old"), "untouched");
}

TEST(GenerateFile, TellsHowFarItIs) {
  const TemporaryFolder folder;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
  generate_file({"uniform", 2'100, 1, 3}, folder / "t", Format::parquet,
                {.memory_bytes = memory_of_smallest_blocks(4),
                 .progress = [&](std::uint64_t done, std::uint64_t rows) { told.emplace_back(done, rows); }});
  EXPECT_THAT(told, ElementsAre(std::pair(0U, 2'100U), std::pair(1024U, 2'100U), std::pair(2048U, 2'100U)));
}

TEST(GenerateFile, EndsSoonAfterAStop) {
  const TemporaryFolder folder;
  for (const Format format : kFormats) {
    std::stop_source source;
    const std::jthread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      source.request_stop();
    });
    // Hours of work.
    EXPECT_THROW(generate_file({"uniform", 1'000'000'000'000, 4, 1}, folder / "t", format,
                               {.memory_bytes = std::size_t{1} << 20, .stop = source.get_token()}),
                 CancelledError);
    EXPECT_THAT(folder.content(), IsEmpty());
  }
}

}  // namespace
}  // namespace skyrank::datasets
