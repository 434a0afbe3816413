#include "engine/temporary_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <skyrank/error.hpp>

namespace skyrank::exec {
namespace {

namespace fs = std::filesystem;

class TemporaryFileTest : public ::testing::Test {
 protected:
  TemporaryFileTest()
      : folder_(::testing::TempDir() + "skyrank_temporary_file_" +
                ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~TemporaryFileTest() override { fs::remove_all(folder_); }

  static std::vector<std::byte> bytes(std::size_t n, int value) {
    return std::vector<std::byte>(n, static_cast<std::byte>(value));
  }

  static std::string message_of(const std::function<void()>& f) {
    try {
      f();
    } catch (const ResourceError& error) {
      return error.message();
    }
    return {};
  }

  fs::path folder_;
};

TEST_F(TemporaryFileTest, GivesBackWhatThreadsAppend) {
  constexpr int kThreads = 4;
  constexpr std::size_t kBytes = 10'000;
  TemporaryFile file(folder_);
  std::vector<std::uint64_t> places(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] { places[static_cast<std::size_t>(t)] = file.append(bytes(kBytes, t)); });
    }
  }
  EXPECT_EQ(file.size(), kThreads * kBytes);
  for (int t = 0; t < kThreads; ++t) {
    std::vector<std::byte> read(kBytes);
    file.read(places[static_cast<std::size_t>(t)], read);
    EXPECT_EQ(read, bytes(kBytes, t));
  }
}

TEST_F(TemporaryFileTest, HasNoNameInItsFolder) {
  TemporaryFile file(folder_);
  file.append(bytes(100, 1));
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(TemporaryFileTest, NeedsAFolder) {
  const std::string why = message_of([&] { const TemporaryFile file(folder_ / "none"); });
  EXPECT_EQ(why, "groups that do not fit the limit of memory go to a temporary file, which cannot be made in '" +
                     (folder_ / "none").string() +
                     "': No such file or directory; let the environment variable TMPDIR name a folder with room for "
                     "them, or raise the limit");
}

/// Lets the process write no file beyond some bytes while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

// The limit lets a part of the bytes be written, as a full disk does.
TEST_F(TemporaryFileTest, SaysThatItCannotBeWritten) {
  TemporaryFile file(folder_);
  const FileSizeLimit limit(1000);
  EXPECT_EQ(message_of([&] { file.append(bytes(2000, 1)); }),
            "groups that do not fit the limit of memory go to a temporary file, which cannot be written in '" +
                folder_.string() +
                "': File too large; let the environment variable TMPDIR name a folder with room for them, or raise the "
                "limit");
}

TEST_F(TemporaryFileTest, SaysThatItCannotBeRead) {
  const TemporaryFile file(folder_);
  std::vector<std::byte> more(1);
  EXPECT_NE(message_of([&] { file.read(0, more); }).find("cannot be read in"), std::string::npos);
}

}  // namespace
}  // namespace skyrank::exec
