#include "datasets/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <skyrank/error.hpp>
#include <system_error>
#include <utility>

namespace skyrank::datasets {
namespace {

// The rename is on the disk when its folder is.
void sync_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;  // a folder one may write to but not read; the file itself is on the disk
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

OutputFile::OutputFile(std::filesystem::path file) : file_(std::move(file)) {
  std::error_code ignored;
  const auto status = std::filesystem::status(file_, ignored);
  if (std::filesystem::is_directory(status)) fail(EISDIR);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    fd_ = ::open(file_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) fail(errno);
    return;
  }
  // A link stays a link: what it points to is replaced.
  if (std::filesystem::is_symlink(file_, ignored)) {
    const auto target = std::filesystem::weakly_canonical(file_, ignored);
    if (!ignored) file_ = target;
  }
  open_temporary();
}

OutputFile::~OutputFile() {
  close();
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) fail(errno);
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void OutputFile::commit() {
  if (!temporary_.empty() && ::fsync(fd_) != 0) fail(errno);
  const int fd = std::exchange(fd_, -1);
  if (::close(fd) != 0) fail(errno);
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), file_.c_str()) != 0) fail(errno);
  temporary_.clear();
  sync_folder(file_);
}

void OutputFile::open_temporary() {
  constexpr int kAttempts = 100;
  std::random_device random;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    temporary_ = file_;
    temporary_.replace_filename("." + std::to_string(random()) + ".skyrank-tmp");
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ >= 0) return;
    if (errno != EEXIST) break;
  }
  const int error = errno;
  temporary_.clear();
  fail(error);
}

void OutputFile::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void OutputFile::fail(int error) const {
  throw ResourceError(file_.string() + ": cannot be written: " + std::strerror(error));
}

}  // namespace skyrank::datasets
