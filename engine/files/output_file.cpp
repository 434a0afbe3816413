#include "engine/files/output_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <skyrank/error.hpp>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace skyrank::exec {
namespace {

constexpr int kMaxAttempts = 100;
constexpr int kMaxLinks = 40;  // as in the kernel
constexpr std::size_t kBytesBetweenLooks = std::size_t{1} << 20;
// A process that waits for the disk cannot end: it never has more than two of these to wait for.
constexpr std::int64_t kBytesOnTheWay = std::int64_t{16} << 20;
constexpr std::chrono::milliseconds kPatience(20);  // between two looks at the stop while a pipe is full

/// The temporary files of the process, which come and go under its lock, so that `remove_all` misses none.
class TemporaryFiles {
 public:
  /// Makes a file by `make`, which returns an errno or 0. Returns that.
  template <class Make>
  int add(const std::filesystem::path& file, const Make& make) {
    const std::lock_guard lock(mutex_);
    if (ended_) return ECANCELED;
    files_.push_back(file);  // before the file is there: its making may take long on a disk that does not answer
    const int error = make();
    if (error != 0) files_.pop_back();
    return error;
  }

  /// Gives a file its final name. Returns an errno or 0.
  int rename(const std::filesystem::path& file, const std::filesystem::path& target) {
    const std::lock_guard lock(mutex_);
    if (::rename(file.c_str(), target.c_str()) != 0) return errno;
    std::erase(files_, file);
    return 0;
  }

  void remove(const std::filesystem::path& file) {
    const std::lock_guard lock(mutex_);
    ::unlink(file.c_str());
    std::erase(files_, file);
  }

  void remove_all() noexcept {
    const std::unique_lock lock(mutex_, std::chrono::milliseconds(500));  // longer: its holder waits for a disk
    ended_ = true;
    for (const std::filesystem::path& file : files_) ::unlink(file.c_str());
  }

 private:
  std::timed_mutex mutex_;
  std::vector<std::filesystem::path> files_;
  bool ended_ = false;
};

/// Returns the one list of temporary files. It is never destroyed, as the process may end at any time, and is made
/// without allocating, as the process may be out of memory.
TemporaryFiles& temporary_files() {
  alignas(TemporaryFiles) static std::byte storage[sizeof(TemporaryFiles)];
  static TemporaryFiles& files = *new (storage) TemporaryFiles;
  return files;
}

/// Number of the descriptor that a path names, so that output shares the position of what the caller opened; opening
/// the path again would begin at the start of a regular file.
std::optional<int> descriptor_named_by(const std::filesystem::path& file) {
  const std::string name = file.lexically_normal().string();
  if (name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!name.starts_with(folder)) continue;
    int number = 0;
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + folder.size(), end, number);
    if (error == std::errc() && stop == end) return number;
  }
  return std::nullopt;
}

/// The path that a chain of links leads to, whether there is anything or not.
std::filesystem::path resolved(std::filesystem::path file) {
  for (int i = 0; i < kMaxLinks; ++i) {
    std::error_code not_a_link;
    const auto target = std::filesystem::read_symlink(file, not_a_link);
    if (not_a_link) break;
    file = file.parent_path() / target;  // an absolute target takes the place of both
  }
  return file;
}

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : ".";
}

/// The name of an open file for linkat, which takes descriptors only from privileged processes.
std::string path_of(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

// The rename is on the disk when its folder is.
void sync_folder(const std::filesystem::path& file) {
  const int fd = ::open(folder_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;  // a folder one may write to but not read; the file itself is on the disk
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

OutputFile::Descriptor::~Descriptor() { close(); }
OutputFile::Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
OutputFile::Descriptor& OutputFile::Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

int OutputFile::Descriptor::close() {
  if (fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0) return 0;
  return errno == EINTR ? 0 : errno;  // Linux has closed it
}

OutputFile::OutputFile(std::filesystem::path file, std::stop_token stop)
    : file_(std::move(file)), target_(file_), stop_(std::move(stop)) {
  if (const std::optional<int> number = descriptor_named_by(file_)) {
    in_place_ = true;
    descriptor_ = Descriptor(::fcntl(*number, F_DUPFD_CLOEXEC, 0));
    if (!descriptor_.is_open()) fail(errno);
    return;
  }
  struct stat status {};
  const bool exists = ::stat(file_.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) fail(errno);
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    open_in_place();
    return;
  }
  target_ = resolved(file_);
  if (exists) {
    before_ = status;
    if (::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) fail(errno);
  }
  open_beside();
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) temporary_files().remove(temporary_);
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    check_stop();
    const std::size_t n = write_some(bytes);
    bytes.remove_prefix(n);
    written_ += static_cast<std::int64_t>(n);
    if (!in_place_) start_writeback();
  }
}

void OutputFile::commit() {
  check_stop();
  if (!in_place_) {
    keep_owner_and_mode();
    if (::fsync(descriptor_.get()) != 0) fail(errno);
    give_name();
  }
  if (const int error = descriptor_.close(); error != 0) fail(error);
  if (temporary_.empty()) return;
  if (const int error = temporary_files().rename(temporary_, target_); error != 0) fail(error);
  temporary_.clear();
  sync_folder(target_);
}

/// Opens a device or a pipe. Without blocking: a pipe that nobody reads from must not keep a stop from being heard.
void OutputFile::open_in_place() {
  in_place_ = true;
  for (;;) {
    check_stop();
    descriptor_ = Descriptor(::open(file_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
    if (descriptor_.is_open()) return;
    const int error = errno;
    std::error_code ignored;
    const bool is_unread = error == ENXIO && std::filesystem::is_fifo(file_, ignored);
    if (!is_unread && error != EINTR) fail(error);
    std::this_thread::sleep_for(kPatience);
  }
}

/// Writes a part of the bytes and returns how many, which may be none.
std::size_t OutputFile::write_some(std::string_view bytes) {
  std::size_t most = kBytesBetweenLooks;
  if (in_place_) {
    // The caller may have opened it, for writes that block. One of so few bytes does not where there is room at all.
    pollfd ready{descriptor_.get(), POLLOUT, 0};
    if (::poll(&ready, 1, static_cast<int>(kPatience.count())) <= 0) return 0;
    most = PIPE_BUF;
  }
  const ssize_t n = ::write(descriptor_.get(), bytes.data(), std::min(bytes.size(), most));
  if (n < 0 && errno != EINTR && errno != EAGAIN) fail(errno);
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

/// Sends what was written to the disk bit by bit, and waits for what was sent before: `commit` would else wait for all
/// of it, in a call that nothing interrupts.
void OutputFile::start_writeback() {
  if (written_ - sent_ < kBytesOnTheWay) return;
  ::sync_file_range(descriptor_.get(), sent_, written_ - sent_, SYNC_FILE_RANGE_WRITE);
  ::sync_file_range(descriptor_.get(), 0, sent_, SYNC_FILE_RANGE_WAIT_BEFORE);
  sent_ = written_;
}

void OutputFile::open_beside() {
  // No wider than the mode that the file will have, from the beginning.
  const mode_t mode = before_ ? before_->st_mode & (S_IRWXU | S_IRWXG | S_IRWXO)
                              : S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
  descriptor_ = Descriptor(::open(folder_of(target_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
  if (descriptor_.is_open() && ::access(path_of(descriptor_.get()).c_str(), F_OK) == 0) return;
  open_named(mode);
}

void OutputFile::open_named(mode_t mode) {
  int error = EEXIST;
  for (int attempt = 0; error == EEXIST && attempt < kMaxAttempts; ++attempt) {
    std::filesystem::path name = temporary_name(attempt);
    error = temporary_files().add(name, [&] {
      descriptor_ = Descriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
      return descriptor_.is_open() ? 0 : errno;
    });
    if (error == 0) {
      temporary_ = std::move(name);
      return;
    }
  }
  fail(error);
}

/// Makes the new file its predecessor's equal. What the system refuses stays with the writer's own; set-id bits are
/// for the owner who set them.
void OutputFile::keep_owner_and_mode() const {
  if (!before_) return;
  const int fd = descriptor_.get();
  const bool owned = ::fchown(fd, before_->st_uid, before_->st_gid) == 0;
  if (!owned) [[maybe_unused]]
    const int refused = ::fchown(fd, static_cast<uid_t>(-1), before_->st_gid);
  const mode_t permissions = S_IRWXU | S_IRWXG | S_IRWXO;
  const mode_t all = permissions | S_ISUID | S_ISGID | S_ISVTX;
  [[maybe_unused]] const int refused = ::fchmod(fd, before_->st_mode & (owned ? all : permissions));
}

/// Gives a file without a name its own, or a temporary one where it takes another's place.
void OutputFile::give_name() {
  if (!temporary_.empty()) return;
  int error = before_ ? EEXIST : link_as(target_);
  if (error == 0) return sync_folder(target_);
  for (int attempt = 0; error == EEXIST && attempt < kMaxAttempts; ++attempt) {
    std::filesystem::path name = temporary_name(attempt);
    error = temporary_files().add(name, [&] { return link_as(name); });
    if (error == 0) temporary_ = std::move(name);
  }
  if (error != 0) fail(error);
}

int OutputFile::link_as(const std::filesystem::path& name) const {
  const int fd = descriptor_.get();
  return ::linkat(AT_FDCWD, path_of(fd).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

std::filesystem::path OutputFile::temporary_name(int attempt) const {
  // The name is made as text: when memory runs out in replace_filename(), libstdc++ 12 frees what it never had.
  const std::string& target = target_.native();
  return target.substr(0, target.find_last_of('/') + 1) + "." + std::to_string(::getpid()) + "." +
         std::to_string(attempt) + ".skyrank-tmp";
}

void OutputFile::check_stop() const {
  if (stop_.stop_requested()) throw CancelledError(file_.string() + ": writing was cancelled");
}

void OutputFile::fail(int error) const {
  throw ResourceError(file_.string() + ": cannot be written: " + std::strerror(error));
}

void remove_temporary_files() noexcept { temporary_files().remove_all(); }

}  // namespace skyrank::exec
