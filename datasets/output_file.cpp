#include "datasets/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <skyrank/error.hpp>
#include <system_error>
#include <utility>

namespace skyrank::datasets {
namespace {

constexpr int kMaxAttempts = 100;
constexpr int kMaxLinks = 40;  // as in the kernel

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

OutputFile::OutputFile(std::filesystem::path file) : file_(std::move(file)), target_(file_) {
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
    in_place_ = true;
    descriptor_ = Descriptor(::open(file_.c_str(), O_WRONLY | O_CLOEXEC));
    if (!descriptor_.is_open()) fail(errno);
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
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_.get(), bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) fail(errno);
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void OutputFile::commit() {
  if (!in_place_) {
    keep_owner_and_mode();
    if (::fsync(descriptor_.get()) != 0) fail(errno);
    give_name();
  }
  if (const int error = descriptor_.close(); error != 0) fail(error);
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
  sync_folder(target_);
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
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    std::filesystem::path name = temporary_name(attempt);
    descriptor_ = Descriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (descriptor_.is_open()) {
      temporary_ = std::move(name);
      return;
    }
    if (errno != EEXIST) break;
  }
  fail(errno);
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
    error = link_as(name);
    if (error == 0) temporary_ = std::move(name);
  }
  if (error != 0) fail(error);
}

int OutputFile::link_as(const std::filesystem::path& name) const {
  const int fd = descriptor_.get();
  return ::linkat(AT_FDCWD, path_of(fd).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

std::filesystem::path OutputFile::temporary_name(int attempt) const {
  std::filesystem::path name = target_;
  name.replace_filename("." + std::to_string(::getpid()) + "." + std::to_string(attempt) + ".skyrank-tmp");
  return name;
}

void OutputFile::fail(int error) const {
  throw ResourceError(file_.string() + ": cannot be written: " + std::strerror(error));
}

}  // namespace skyrank::datasets
