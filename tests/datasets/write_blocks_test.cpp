#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>

#include "datasets/reader.hpp"
#include "datasets/write/writer.hpp"
#include "tests/datasets/formats.hpp"
#include "tests/datasets/support.hpp"
#include "tests/fork.hpp"

namespace skyrank::datasets {
namespace {

using test::content_of;
using test::error_of;
using test::kFormats;
using test::schema_of;
using test::TemporaryFolder;
using test::values_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Rows [begin, end) of a table with NULLs, strings, a dictionary and timestamps.
Table rows_of(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> numbers;
  std::vector<bool> present;
  std::vector<std::string> texts;
  std::vector<std::int64_t> times;
  for (std::int64_t row = begin; row < end; ++row) {
    numbers.push_back(row * row);
    present.push_back(row % 3 != 0);
    texts.push_back(row % 5 == 0 ? "" : "a, \"" + std::to_string(row));
    times.push_back(1'000 * row);
  }
  return Table({Column::own("n", numbers, present), Column::own("s", texts, present),
                Column::own_as("t", DataType(Type::timestamp, TimeUnit::millisecond), times)});
}

/// Gives the blocks of `rows` rows.
NextBlock blocks_of(std::int64_t rows, std::int64_t step) {
  return [rows, step, begin = std::int64_t{0}]() mutable -> std::optional<Table> {
    if (begin > 0 && begin >= rows) return std::nullopt;
    const std::int64_t first = begin;
    begin += step;
    return rows_of(first, std::min(first + step, rows));
  };
}

TEST(WriteBlocks, HaveTheRowsOfTheWholeTable) {
  const TemporaryFolder folder;
  constexpr std::int64_t kRows = 10'000;
  const Table whole = rows_of(0, kRows);
  for (const Format format : kFormats) {
    const std::string name = "t." + std::string(to_string(format));
    write(whole, folder / "whole", format);
    for (const std::int64_t step : {1'000, 3'333, 9'999, 10'000, 20'000}) {
      for (const int threads : {1, 3}) {
        write_blocks(blocks_of(kRows, step), folder / name, format, {.threads = threads});
        if (format == Format::csv || format == Format::jsonl) {
          EXPECT_TRUE(content_of(folder / name) == content_of(folder / "whole")) << name << " by " << step;
          continue;
        }
        const Table again = read({folder / name});
        EXPECT_EQ(schema_of(again), schema_of(whole)) << name;
        for (const char* column : {"n", "s", "t"}) {
          EXPECT_EQ(values_of(again, column), values_of(whole, column)) << name << " by " << step;
        }
        const auto source = open_source({folder / name});
        const std::int64_t units = (kRows + step - 1) / step;
        EXPECT_EQ(static_cast<std::int64_t>(source->units().size()), units) << name << " by " << step;
      }
    }
  }
}

TEST(WriteBlocks, OfARowGroupEachMakeTheFileOfTheWholeTable) {
  const TemporaryFolder folder;
  constexpr std::int64_t kRows = kRowsPerGroup + 5;
  const auto values = [](std::int64_t begin, std::int64_t end) {
    std::vector<std::int32_t> of_rows;
    for (std::int64_t row = begin; row < end; ++row) of_rows.push_back(static_cast<std::int32_t>(row % 251));
    return Table({Column::own("n", of_rows)});
  };
  const auto next = [&, begin = std::int64_t{0}]() mutable -> std::optional<Table> {
    if (begin >= kRows) return std::nullopt;
    const std::int64_t first = std::exchange(begin, begin + kRowsPerGroup);
    return values(first, std::min(begin, kRows));
  };
  write(values(0, kRows), folder / "whole.parquet", Format::parquet);
  write_blocks(next, folder / "blocks.parquet", Format::parquet);
  EXPECT_TRUE(content_of(folder / "blocks.parquet") == content_of(folder / "whole.parquet"));
}

TEST(WriteBlocks, MayHaveNoRows) {
  const TemporaryFolder folder;
  for (const Format format : kFormats) {
    write(rows_of(0, 0), folder / "whole", format);
    write_blocks(blocks_of(0, 10), folder / "blocks", format);
    EXPECT_EQ(content_of(folder / "blocks"), content_of(folder / "whole")) << to_string(format);
  }
}

TEST(WriteBlocks, AreAtMostTwoAtATime) {
  const TemporaryFolder folder;
  for (const Format format : kFormats) {
    std::atomic<int> alive = 0;
    std::atomic<int> most = 0;
    const auto next = [&, made = 0]() mutable -> std::optional<Table> {
      if (made == 20) return std::nullopt;
      ++made;
      // Counted until the last owner of the values lets go of them.
      std::shared_ptr<std::int64_t[]> values(new std::int64_t[5'000](), [&](const std::int64_t* memory) {
        --alive;
        delete[] memory;
      });
      most = std::max<int>(most, ++alive);
      ColumnData data;
      data.type = Type::int64;
      data.length = 5'000;
      data.stride = 8;
      data.values = values.get();
      data.owner = std::move(values);
      return Table({Column("n", std::move(data))});
    };
    write_blocks(next, folder / "t", format, {.threads = 4});
    EXPECT_EQ(alive, 0) << to_string(format);
    EXPECT_LE(most, 2) << to_string(format);
  }
}

/// A failure where a block is made.
struct Failure {
  const char* name;
  std::function<void()> fail;
};

TEST(WriteBlocks, ThatCannotBeMadeLeaveNothingAndAnOldFileAsItWas) {
  const TemporaryFolder folder;
  folder.write("old", "untouched");
  const Failure failures[] = {{"memory", [] { throw std::bad_alloc(); }},
                              {"resource", [] { throw ResourceError("no memory for a block"); }},
                              {"data", [] { throw DataError("no such block"); }},
                              {"cancelled", [] { throw CancelledError("enough"); }}};
  for (const Format format : kFormats) {
    for (const Failure& failure : failures) {
      const std::string what = failure.name;
      // Parquet writers that memory ran out of stay for good, which leak detectors report.
      if (format == Format::parquet && (what == "memory" || what == "resource")) continue;
      for (const int good : {0, 1, 3}) {
        for (const char* name : {"new", "old"}) {
          const auto next = [&, made = 0]() mutable -> std::optional<Table> {
            if (made == good) failure.fail();
            ++made;
            return rows_of(0, 100);
          };
          EXPECT_ANY_THROW(write_blocks(next, folder / name, format)) << what << " after " << good;
        }
        EXPECT_THAT(folder.content(), ElementsAre("old"));
        EXPECT_EQ(content_of(folder / "old"), "untouched");
      }
    }
  }
}

TEST(WriteBlocks, HearAStopBetweenBlocks) {
  const TemporaryFolder folder;
  for (const Format format : kFormats) {
    std::stop_source source;
    const auto next = [&, made = 0]() mutable -> std::optional<Table> {
      if (++made == 3) source.request_stop();
      return rows_of(0, 5'000);  // without end
    };
    EXPECT_THAT(
        error_of<CancelledError>([&] { write_blocks(next, folder / "t", format, {.stop = source.get_token()}); }),
        HasSubstr("writing was cancelled"));
    EXPECT_TRUE(folder.content().empty());
  }
}

/// Exit status of `run` in a child process whose files may not grow beyond a size.
template <class Run>
int with_small_files(rlim_t bytes, Run run) {
  const pid_t child = tests::fork_when_idle();
  if (child == 0) {
    const rlimit limit{bytes, bytes};
    std::signal(SIGXFSZ, SIG_IGN);
    ::_exit(::setrlimit(RLIMIT_FSIZE, &limit) == 0 ? run() : 2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(WriteBlocks, LeaveNothingWhenTheDiskIsFullAtALaterOne) {
  const TemporaryFolder folder;
  folder.write("old", "untouched");
  for (const Format format : kFormats) {
    for (const char* name : {"new", "old"}) {
      const int status = with_small_files(100'000, [&] {
        try {
          write_blocks(blocks_of(100'000, 2'000), folder / name, format, {.threads = 1});
        } catch (const ResourceError& error) {
          return std::string(error.what()).find("File too large") != std::string::npos ? 0 : 3;
        } catch (...) {
          return 4;
        }
        return 5;
      });
      EXPECT_EQ(status, 0) << to_string(format) << " " << name;
      EXPECT_THAT(folder.content(), ElementsAre("old"));
      EXPECT_EQ(content_of(folder / "old"), "untouched");
    }
  }
}

}  // namespace
}  // namespace skyrank::datasets
