#include "engine/temporary_file.hpp"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <skyrank/error.hpp>

namespace skyrank::exec {

std::filesystem::path temporary_folder() {
  const char* const folder = std::getenv("TMPDIR");
  return folder == nullptr || *folder == '\0' ? "/tmp" : folder;
}

TemporaryFile::TemporaryFile(std::filesystem::path folder, Content content)
    : folder_(std::move(folder)), content_(std::move(content)) {
  open_unnamed();
  if (descriptor_ < 0) open_named();
}

TemporaryFile::~TemporaryFile() { ::close(descriptor_); }

/// Leaves the file closed where the file system has no files without names.
void TemporaryFile::open_unnamed() {
  descriptor_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor_ < 0 && errno != EOPNOTSUPP && errno != EISDIR) fail("made", errno);
}

void TemporaryFile::open_named() {
  std::string name = folder_.native() + "/skyrank-XXXXXX";
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail("made", errno);
  if (::unlink(name.c_str()) == 0) return;
  const int error = errno;
  ::close(descriptor_);
  fail("made", error);
}

std::uint64_t TemporaryFile::append(std::span<const std::byte> bytes) {
  const std::uint64_t begin = size_.fetch_add(bytes.size());
  std::uint64_t at = begin;
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("written", written < 0 ? errno : ENOSPC);
    at += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return begin;
}

void TemporaryFile::read(std::uint64_t at, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("read", got < 0 ? errno : EIO);
    at += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

void TemporaryFile::fail(const std::string& what, int error) const {
  throw ResourceError(content_.goes + " to a temporary file, which cannot be " + what + " in '" + folder_.string() +
                      "': " + std::generic_category().message(error) +
                      "; let the environment variable TMPDIR name a folder with room for " + content_.pronoun +
                      ", or raise the limit");
}

}  // namespace skyrank::exec
