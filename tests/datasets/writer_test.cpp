#include "datasets/write/writer.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <limits>
#include <numeric>
#include <stop_token>
#include <thread>

#include "datasets/reader.hpp"
#include "engine/files/output_file.hpp"
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
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Table sample() {
  return Table(
      {Column::own("n", std::vector<std::int64_t>{1, -9223372036854775807, 0}, {true, true, false}),
       Column::own("x", std::vector<double>{0.1, 1e300, kNan}),
       Column::own("s", std::vector<std::string>{"plain", "a,\"b\"\n", ""}, {true, true, false}),
       Column::own("b", std::vector<bool>{true, false, true}), Column::own("d", std::vector<Date>{{0}, {18321}, {-1}}),
       Column::own_as("t", DataType(Type::timestamp, TimeUnit::millisecond), std::vector<std::int64_t>{0, 1'500, -1})});
}

std::string streamed(const Table& table, Format format) {
  std::ostringstream out;
  write(table, out, format);
  return out.str();
}

TEST(Writer, Csv) {
  EXPECT_EQ(streamed(sample(), Format::csv),
            "n,x,s,b,d,t\n"
            "1,0.1,plain,true,1970-01-01,1970-01-01 00:00:00.000\n"
            "-9223372036854775807,1e+300,\"a,\"\"b\"\"\n\",false,2020-02-29,1970-01-01 00:00:01.500\n"
            ",nan,,true,1969-12-31,1969-12-31 23:59:59.999\n");
}

TEST(Writer, CsvQuotesWhatWouldReadAsSomethingElse) {
  const Table table({Column::own("a,b", std::vector<std::string>{"", "NULL", "NA", "null", "N/A", "x", "cr\r", " s "}),
                     Column::own("NULL", std::vector<std::int64_t>(8, 1))});
  EXPECT_EQ(streamed(table, Format::csv),
            "\"a,b\",\"NULL\"\n\"\",1\n\"NULL\",1\n\"NA\",1\n\"null\",1\n\"N/A\",1\nx,1\n\"cr\r\",1\n s ,1\n");
  const Table again = read_csv(streamed(table, Format::csv), "again");
  EXPECT_EQ(values_of(again, "a,b"), values_of(table, "a,b"));
  EXPECT_FALSE(again.column("a,b").is_null(1));
}

TEST(Writer, CsvOfOneColumnKeepsItsNulls) {
  const Table table({Column::own("a", std::vector<std::int64_t>{1, 0, 3}, {true, false, true})});
  EXPECT_EQ(streamed(table, Format::csv), "a\n1\nNULL\n3\n");
  EXPECT_THAT(values_of(read_csv(streamed(table, Format::csv), "again"), "a"), ElementsAre("1", "NULL", "3"));
}

TEST(Writer, JsonLines) {
  EXPECT_EQ(
      streamed(sample(), Format::jsonl),
      "{\"n\":1,\"x\":0.1,\"s\":\"plain\",\"b\":true,\"d\":\"1970-01-01\",\"t\":\"1970-01-01 00:00:00.000\"}\n"
      "{\"n\":-9223372036854775807,\"x\":1e+300,\"s\":\"a,\\\"b\\\"\\n\",\"b\":false,\"d\":\"2020-02-29\","
      "\"t\":\"1970-01-01 00:00:01.500\"}\n"
      "{\"n\":null,\"x\":\"NaN\",\"s\":null,\"b\":true,\"d\":\"1969-12-31\",\"t\":\"1969-12-31 23:59:59.999\"}\n");
  const Table odd({Column::own("a\"\\", std::vector<std::string>{std::string("\0\x1F\t\r", 4), "ø"}),
                   Column::own("x", std::vector<double>{kInfinity, -kInfinity}),
                   Column::own("u", std::vector<std::uint64_t>{~0ULL, 0})});
  EXPECT_EQ(streamed(odd, Format::jsonl),
            "{\"a\\\"\\\\\":\"\\u0000\\u001f\\t\\r\",\"x\":\"Infinity\",\"u\":18446744073709551615}\n"
            "{\"a\\\"\\\\\":\"ø\",\"x\":\"-Infinity\",\"u\":0}\n");
}

TEST(Writer, FilesReadBackTheSame) {
  const TemporaryFolder folder;
  for (const char* name : {"t.csv", "t.parquet", "t.arrow"}) {
    write(sample(), folder / name, format_of(name));
    const Table table = read({folder / name});
    ASSERT_EQ(table.num_rows(), 3) << name;
    for (const char* column : {"n", "x", "s", "b", "d"}) {
      EXPECT_EQ(values_of(table, column), values_of(sample(), column)) << name << " " << column;
    }
  }
  EXPECT_EQ(schema_of(read({folder / "t.parquet"})), schema_of(sample()));
  EXPECT_EQ(schema_of(read({folder / "t.arrow"})), schema_of(sample()));
  EXPECT_EQ(values_of(read({folder / "t.arrow"}), "t"), values_of(sample(), "t"));
  write(sample(), folder / "t.jsonl", Format::jsonl);
  EXPECT_EQ(content_of(folder / "t.jsonl"), streamed(sample(), Format::jsonl));
  EXPECT_THAT(folder.content(), ElementsAre("t.arrow", "t.csv", "t.jsonl", "t.parquet"));
}

TEST(Writer, DoublesReadBackBitForBit) {
  std::vector<double> values;
  std::uint64_t bits = 88172645463325252ULL;  // xorshift64
  while (values.size() < 100'000) {
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    if (const double value = std::bit_cast<double>(bits); std::isfinite(value)) values.push_back(value);
  }
  const Table again = read_csv(streamed(Table({Column::own("x", values)}), Format::csv), "again");
  ASSERT_EQ(schema_of(again), std::vector<std::string>{"x:float64"});
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(std::get<double>(again.column(0).value(static_cast<std::int64_t>(i))), values[i]);
  }
}

TEST(Writer, NegativeZeroKeepsItsSign) {
  const Table table({Column::own("x", std::vector<double>{-0.0, 1})});
  EXPECT_EQ(streamed(table, Format::csv), "x\n-0.0\n1\n");
  EXPECT_TRUE(std::signbit(std::get<double>(read_csv(streamed(table, Format::csv), "again").column(0).value(0))));
}

TEST(Writer, SecondsSurviveParquet) {
  const TemporaryFolder folder;
  const Table table(
      {Column::own_as("t", DataType(Type::timestamp, TimeUnit::second), std::vector<std::int64_t>{-1, 5})});
  write(table, folder / "t.parquet", Format::parquet);
  const Table again = read({folder / "t.parquet"});
  EXPECT_THAT(values_of(again, "t"), ElementsAre("1969-12-31 23:59:59.000", "1970-01-01 00:00:05.000"));
  const Table far({Column::own_as("t", DataType(Type::timestamp, TimeUnit::second),
                                  std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max()})});
  EXPECT_THAT(error_of<DataError>([&] { write(far, folder / "far.parquet", Format::parquet); }),
              AllOf(HasSubstr("far.parquet: cannot be written as parquet"), HasSubstr("overflow")));
  EXPECT_THAT(folder.content(), ElementsAre("t.parquet"));
}

TEST(Writer, OrderOfRowsForAnyNumberOfThreads) {
  const TemporaryFolder folder;
  std::vector<std::int64_t> numbers(100'000);
  std::iota(numbers.begin(), numbers.end(), 0);
  const Table table({Column::own("n", numbers)});
  std::string expected = "n\n";
  for (const std::int64_t n : numbers) expected += std::to_string(n) + "\n";
  for (const int threads : {0, 1, 4}) {
    write(table, folder / "n.csv", Format::csv, {.threads = threads});
    EXPECT_EQ(content_of(folder / "n.csv"), expected) << threads;
  }
}

TEST(Writer, EmptyTables) {
  const TemporaryFolder folder;
  const Table empty({Column::own("a", std::vector<std::int64_t>{}), Column::own("s", std::vector<std::string>{})});
  EXPECT_EQ(streamed(empty, Format::csv), "a,s\n");
  EXPECT_EQ(streamed(empty, Format::jsonl), "");
  for (const char* name : {"e.parquet", "e.arrow"}) {
    write(empty, folder / name, format_of(name));
    EXPECT_EQ(schema_of(read({folder / name})), schema_of(empty)) << name;
  }
}

// Exit status of `run` in a child process.
template <class Run>
int in_child(Run run) {
  const pid_t child = tests::fork_when_idle();
  if (child == 0) ::_exit(run());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Failures

TEST(Writer, ReplacesAFileAsAWhole) {
  const TemporaryFolder folder;
  folder.write("t.csv", std::string(100'000, 'x'));
  write(sample(), folder / "t.csv", Format::csv);
  EXPECT_EQ(content_of(folder / "t.csv"), streamed(sample(), Format::csv));
}

TEST(Writer, ALinkStaysALink) {
  const TemporaryFolder folder;
  folder.write("real.csv", "old");
  std::filesystem::create_symlink("real.csv", folder / "link.csv");
  write(sample(), folder / "link.csv", Format::csv);
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.csv"));
  EXPECT_EQ(content_of(folder / "real.csv"), streamed(sample(), Format::csv));
}

TEST(Writer, ALinkToNothingStaysALink) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("second.csv", folder / "first.csv");
  std::filesystem::create_symlink("real.csv", folder / "second.csv");
  write(sample(), folder / "first.csv", Format::csv);
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "first.csv"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "second.csv"));
  EXPECT_EQ(content_of(folder / "real.csv"), streamed(sample(), Format::csv));
  std::filesystem::create_symlink("round.csv", folder / "round.csv");
  EXPECT_THAT(error_of<ResourceError>([&] { write(sample(), folder / "round.csv", Format::csv); }),
              HasSubstr("Too many levels of symbolic links"));
}

struct stat status_of(const std::filesystem::path& file) {
  struct stat status {};
  EXPECT_EQ(::stat(file.c_str(), &status), 0) << file;
  return status;
}

TEST(Writer, AReplacedFileKeepsItsMode) {
  const TemporaryFolder folder;
  for (const mode_t mode : {0600, 0640, 0666, 0755}) {
    ASSERT_EQ(::chmod(folder.write("t.csv", "old").c_str(), mode), 0);
    write(sample(), folder / "t.csv", Format::csv);
    EXPECT_EQ(content_of(folder / "t.csv"), streamed(sample(), Format::csv));
    EXPECT_EQ(status_of(folder / "t.csv").st_mode & 07777, mode);
  }
}

TEST(Writer, AReplacedFileKeepsItsOwnerWhereThatIsAllowed) {
  const TemporaryFolder folder;
  const auto file = folder.write("t.csv", "old");
  constexpr uid_t kOther = 65534;
  if (::chown(file.c_str(), kOther, kOther) != 0) GTEST_SKIP() << "only root may give files away";
  ASSERT_EQ(::chmod(file.c_str(), 04750), 0);
  write(sample(), file, Format::csv);
  EXPECT_EQ(status_of(file).st_uid, kOther);
  EXPECT_EQ(status_of(file).st_gid, kOther);
  EXPECT_EQ(status_of(file).st_mode & 07777, 04750U);
}

TEST(Writer, ANewFileHonoursTheUmask) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(027);
  write(sample(), folder / "t.csv", Format::csv);
  ::umask(before);
  EXPECT_EQ(status_of(folder / "t.csv").st_mode & 07777, 0640U);
}

TEST(Writer, AFileThatMayNotBeWrittenIsNotReplaced) {
  const TemporaryFolder folder;
  const auto file = folder.write("t.csv", "old");
  ASSERT_EQ(::chmod(file.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  EXPECT_EQ(in_child([&] {
              if (::geteuid() == 0 && ::seteuid(65534) != 0) return 2;
              try {
                write(sample(), file, Format::csv, {.threads = 1});
              } catch (const ResourceError& error) {
                return std::string(error.what()).find("Permission denied") != std::string::npos ? 0 : 3;
              }
              return 4;
            }),
            0);
  EXPECT_EQ(content_of(file), "old");
}

TEST(Writer, AnOpenDescriptorIsWrittenFromItsPosition) {
  const TemporaryFolder folder;
  const auto file = folder.write("t.csv", "before\n");
  const int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  for (const std::string place : {"/dev/fd/", "/proc/self/fd/"}) {
    write(sample(), place + std::to_string(fd), Format::csv);
  }
  ::close(fd);
  EXPECT_EQ(content_of(file), "before\n" + streamed(sample(), Format::csv) + streamed(sample(), Format::csv));
  EXPECT_THAT(folder.content(), ElementsAre("t.csv"));
  EXPECT_THAT(error_of<ResourceError>([&] { write(sample(), "/dev/fd/987", Format::csv); }),
              HasSubstr("/dev/fd/987: cannot be written: Bad file descriptor"));
}

TEST(Writer, AKilledWriterLeavesNothing) {
  const TemporaryFolder folder;
  const int fd = ::open(folder.path().c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) GTEST_SKIP() << "this filesystem knows no files without a name";
  ::close(fd);
  folder.write("old.csv", "untouched");
  for (const char* name : {"new.csv", "old.csv"}) {
    EXPECT_EQ(in_child([&] {
                exec::OutputFile file(folder / name);
                file.write("half");
                ::raise(SIGKILL);
                return 0;
              }),
              128 + SIGKILL);
    EXPECT_THAT(folder.content(), ElementsAre("old.csv"));
    EXPECT_EQ(content_of(folder / "old.csv"), "untouched");
  }
}

TEST(Writer, AStopLeavesNothingAndAnOldFileAsItWas) {
  const TemporaryFolder folder;
  std::stop_source stopped;
  stopped.request_stop();
  for (const Format format : kFormats) {
    folder.write("old", "untouched");
    for (const char* name : {"new", "old"}) {
      EXPECT_THAT(
          error_of<CancelledError>([&] { write(sample(), folder / name, format, {.stop = stopped.get_token()}); }),
          HasSubstr("writing was cancelled"));
    }
    EXPECT_THAT(folder.content(), ElementsAre("old"));
    EXPECT_EQ(content_of(folder / "old"), "untouched");
  }
  std::ostringstream out;
  EXPECT_THROW(write(sample(), out, Format::csv, {.stop = stopped.get_token()}), CancelledError);
  EXPECT_THROW(write_text(sample(), out, {.stop = stopped.get_token()}), CancelledError);
}

/// Asks for a stop a moment later.
std::jthread stop_soon(std::stop_source& source) {
  return std::jthread([&source] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    source.request_stop();
  });
}

TEST(Writer, AStopIsHeardWhileAFileIsWritten) {
  const TemporaryFolder folder;
  const Table large({Column::own("a", std::vector<double>(20'000'000, 1.25))});
  for (const Format format : kFormats) {
    std::stop_source source;
    const std::jthread stopper = stop_soon(source);
    EXPECT_THROW(write(large, folder / "t", format, {.stop = source.get_token()}), CancelledError);
    EXPECT_THAT(folder.content(), IsEmpty());
  }
}

TEST(Writer, AStopIsHeardWhileNobodyReadsFromAPipe) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::vector<double> values(200'000);
  std::iota(values.begin(), values.end(), 0.5);  // equal ones would fit the pipe in a format that compresses
  const Table large({Column::own("a", std::move(values))});
  for (const bool opened : {false, true}) {
    const int reader = opened ? ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    for (const Format format : kFormats) {
      std::stop_source source;
      const std::jthread stopper = stop_soon(source);
      EXPECT_THROW(write(large, pipe, format, {.stop = source.get_token()}), CancelledError);
    }
    ::close(reader);
  }
}

TEST(Writer, APipeThatIsReadSlowlyGetsEverything) {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Table large({Column::own("a", std::vector<double>(200'000, 1.25))});
  std::string all;
  std::jthread reader([&] {
    const int fd = ::open(pipe.c_str(), O_RDONLY | O_CLOEXEC);
    std::vector<char> buffer(1 << 16);
    for (ssize_t n = 1; n > 0;) {
      n = ::read(fd, buffer.data(), buffer.size());
      if (n > 0) all.append(buffer.data(), static_cast<std::size_t>(n));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ::close(fd);
  });
  write(large, pipe, Format::csv);
  reader.join();
  write(large, folder / "file.csv", Format::csv);
  EXPECT_TRUE(all == content_of(folder / "file.csv"));
}

TEST(Writer, TemporaryFilesOfAProcessThatEndsAtOnceAreRemoved) {
  const TemporaryFolder folder;
  folder.write("old.csv", "untouched");
  EXPECT_EQ(in_child([&] {
              exec::OutputFile first(folder / "new.csv");
              exec::OutputFile second(folder / "old.csv");
              first.write("half");
              second.write("half");
              exec::remove_temporary_files();
              ::_exit(7);
              return 0;
            }),
            7);
  EXPECT_THAT(folder.content(), ElementsAre("old.csv"));
}

TEST(Writer, PlacesThatCannotBeWritten) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "dir.csv");
  for (const Format format : kFormats) {
    EXPECT_THAT(error_of<ResourceError>([&] { write(sample(), folder / "none/t", format); }),
                AllOf(HasSubstr("none/t: cannot be written"), HasSubstr("No such file or directory")));
    EXPECT_THAT(error_of<ResourceError>([&] { write(sample(), folder / "dir.csv", format); }),
                AllOf(HasSubstr("dir.csv"), HasSubstr("Is a directory")));
  }
  EXPECT_THAT(error_of<DataError>([&] { write(sample(), folder / "t.tsv", Format::tsv); }), HasSubstr("not written"));
  EXPECT_THAT(folder.content(), ElementsAre("dir.csv"));
  std::ostringstream out;
  EXPECT_THAT(error_of<DataError>([&] { write(sample(), out, Format::parquet); }), HasSubstr("only csv and jsonl"));
}

TEST(Writer, DevicesAreWrittenInPlace) {
  for (const Format format : kFormats) {
    write(sample(), "/dev/null", format);
    EXPECT_THAT(error_of<ResourceError>([&] { write(sample(), "/dev/full", format); }),
                AllOf(HasSubstr("/dev/full: cannot be written"), HasSubstr("No space left on device")));
  }
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(Writer, AStreamThatFails) {
  std::ofstream out("/dev/full");
  for (const Format format : {Format::csv, Format::jsonl}) {
    out.clear();
    EXPECT_THAT(error_of<ResourceError>([&] { write(sample(), out, format); }), HasSubstr("cannot be written"));
  }
  out.clear();
  EXPECT_THAT(error_of<ResourceError>([&] { write_text(sample(), out); }), HasSubstr("cannot be written"));
}

// A limit on the size of files stands for a disk that fills up halfway.
TEST(Writer, AFullDiskLeavesNothingBehind) {
  const TemporaryFolder folder;
  folder.write("old.csv", "untouched");
  for (const Format format : kFormats) {
    for (const char* name : {"new.csv", "old.csv"}) {
      const int status = in_child([&] {
        const rlimit limit{1024, 1024};
        std::signal(SIGXFSZ, SIG_IGN);
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
        try {
          // Large enough in any format, as nothing compresses random bits.
          std::vector<std::uint64_t> noise(10'000);
          std::uint64_t bits = 88172645463325252ULL;
          for (std::uint64_t& value : noise) value = bits = bits * 6364136223846793005ULL + 1442695040888963407ULL;
          write(Table({Column::own("n", noise)}), folder / name, format, {.threads = 1});
        } catch (const ResourceError& error) {
          const std::string what = error.what();
          return what.find(name) != std::string::npos && what.find("File too large") != std::string::npos ? 0 : 3;
        } catch (...) {
          return 4;
        }
        return 5;
      });
      EXPECT_EQ(status, 0) << to_string(format) << " " << name;
      EXPECT_THAT(folder.content(), ElementsAre("old.csv"));
      EXPECT_EQ(content_of(folder / "old.csv"), "untouched");
    }
  }
}

TEST(Writer, WithoutPermission) {
  const TemporaryFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  EXPECT_EQ(in_child([&] {
              if (::geteuid() == 0 && ::seteuid(65534) != 0) return 2;
              try {
                write(sample(), folder / "t.csv", Format::csv, {.threads = 1});
              } catch (const ResourceError& error) {
                return std::string(error.what()).find("Permission denied") != std::string::npos ? 0 : 3;
              }
              return 4;
            }),
            0);
  EXPECT_THAT(folder.content(), IsEmpty());
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
}

}  // namespace
}  // namespace skyrank::datasets
