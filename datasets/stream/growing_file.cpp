#include "datasets/stream/growing_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <skyrank/error.hpp>
#include <thread>
#include <utility>

namespace skyrank::datasets {
namespace {

constexpr std::chrono::milliseconds kPatience(20);  // between two looks at the stop, and at the end of a file

}  // namespace

GrowingFile::GrowingFile(const std::filesystem::path& file, bool follow, std::stop_token stop)
    : name_(file == "-" ? "standard input" : file.string()), stop_(std::move(stop)), follow_(follow) {
  // Without blocking: a pipe that nobody writes to must not keep a stop from being heard.
  descriptor_ =
      file == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0 && errno == ENOENT) throw DataError(name_ + ": there is no such file");
  if (descriptor_ < 0) fail(errno);
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) {
    const int error = errno;
    ::close(descriptor_);
    fail(error);
  }
  is_regular_ = S_ISREG(status.st_mode);
}

GrowingFile::~GrowingFile() { ::close(descriptor_); }

bool GrowingFile::read(std::string& text, std::size_t max_bytes) {
  const std::size_t before = text.size();
  for (;;) {
    check_stop();
    if (!is_regular_) wait_for_bytes();
    text.resize(before + max_bytes);
    const ssize_t n = ::read(descriptor_, text.data() + before, max_bytes);
    const int error = n < 0 ? errno : 0;
    text.resize(before + static_cast<std::size_t>(n > 0 ? n : 0));
    if (n > 0) {
      read_ += static_cast<std::uint64_t>(n);
      return true;
    }
    if (error == EINTR || error == EAGAIN) continue;
    if (error != 0) fail(error);
    if (!is_regular_ || !follow_) return false;
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) fail(errno);
    if (static_cast<std::uint64_t>(status.st_size) < read_) {
      throw DataError(name_ + ": has become shorter; a file that is followed may only grow");
    }
    std::this_thread::sleep_for(kPatience);
  }
}

/// Waits until a pipe has bytes, or has ended.
void GrowingFile::wait_for_bytes() const {
  pollfd input{descriptor_, POLLIN, 0};
  while (::poll(&input, 1, static_cast<int>(kPatience.count())) == 0) check_stop();
}

void GrowingFile::check_stop() const {
  if (stop_.stop_requested()) throw CancelledError("reading " + name_ + " was cancelled");
}

void GrowingFile::fail(int error) const { throw ResourceError(name_ + ": cannot be read: " + std::strerror(error)); }

}  // namespace skyrank::datasets
