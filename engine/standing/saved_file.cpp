#include "engine/standing/saved_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include <skyrank/error.hpp>

#include "engine/checked_size.hpp"

namespace skyrank::exec {
namespace {

static_assert(std::endian::native == std::endian::little, "the file has the numbers of little-endian machines");

constexpr std::string_view kMark = "SKYSTAND";
constexpr std::size_t kBufferBytes = std::size_t{1} << 16;
constexpr std::size_t kHeaderBytes = kMark.size() + sizeof(std::uint64_t);  // and the version

}  // namespace

void Checksum::add_word(std::uint64_t word) {
  state_ = (state_ ^ word) * 0x100000001b3;
  state_ ^= state_ >> 32;
}

void Checksum::add(std::span<const std::byte> bytes) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    if (rest_bytes_ == 0 && bytes.size() >= kWord) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data(), kWord);
      add_word(word);
      bytes = bytes.subspan(kWord);
      continue;
    }
    const std::size_t taken = std::min(kWord - rest_bytes_, bytes.size());
    std::memcpy(reinterpret_cast<std::byte*>(&rest_) + rest_bytes_, bytes.data(), taken);
    bytes = bytes.subspan(taken);
    rest_bytes_ += taken;
    if (rest_bytes_ < kWord) return;
    add_word(rest_);
    rest_ = 0;
    rest_bytes_ = 0;
  }
}

std::uint64_t Checksum::value() const {
  Checksum all = *this;
  if (rest_bytes_ > 0) all.add_word(rest_);
  all.add_word(bytes_);
  return all.state_;
}

SavedWriter::SavedWriter(const std::filesystem::path& file) : file_(file) {
  bytes(std::as_bytes(std::span(kMark)));
  number(kSavedVersion);
}

void SavedWriter::bytes(std::span<const std::byte> bytes) {
  checksum_.add(bytes);
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (buffer_.size() >= kBufferBytes) flush();
}

void SavedWriter::text(const std::string& text) {
  number(std::uint64_t{text.size()});
  bytes(std::as_bytes(std::span(text)));
}

void SavedWriter::flush() {
  file_.write(buffer_);
  buffer_.clear();
}

void SavedWriter::finish() {
  number(checksum_.value());
  flush();
  file_.commit();
}

SavedReader::SavedReader(const std::filesystem::path& file) : file_(file) {
  // Without blocking, as nobody may write to a pipe.
  descriptor_ = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) throw ResourceError(file_.string() + ": cannot be read: " + std::strerror(errno));
  try {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) {
      throw ResourceError(file_.string() + ": cannot be read: " + std::strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) refuse("is no regular file, as a saved standing query is one");
    end_ = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
    check_checksum();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

SavedReader::~SavedReader() { ::close(descriptor_); }

void SavedReader::read_at(std::uint64_t at, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t n = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw ResourceError(file_.string() + ": cannot be read: " + std::strerror(errno));
    if (n == 0) refuse("became shorter while it was read");
    out = out.subspan(static_cast<std::size_t>(n));
    at += static_cast<std::uint64_t>(n);
  }
}

/// Compares the mark, the version and the checksum, so that what differs later is no damage of the disk.
void SavedReader::check_checksum() {
  std::array<char, kMark.size()> mark{};
  if (end_ >= mark.size()) read_at(0, std::as_writable_bytes(std::span(mark)));
  if (std::string_view(mark.data(), mark.size()) != kMark) refuse("is no saved standing query");
  std::uint64_t version = 0;
  if (end_ >= kHeaderBytes) read_at(kMark.size(), std::as_writable_bytes(std::span(&version, 1)));
  if (end_ >= kHeaderBytes && version != kSavedVersion) {
    refuse("is a saved standing query of version " + std::to_string(version) + "; this library reads version " +
           std::to_string(kSavedVersion) + ". Make the query anew from its rows, or use the library that saved it");
  }
  if (end_ < kHeaderBytes + sizeof(std::uint64_t)) {
    refuse("ends at byte " + std::to_string(end_) + ": it is cut off");
  }
  end_ -= sizeof(std::uint64_t);
  Checksum checksum;
  std::vector<std::byte> buffer(kBufferBytes);
  for (std::uint64_t at = 0; at < end_;) {
    const std::span<std::byte> part(buffer.data(), std::min<std::uint64_t>(kBufferBytes, end_ - at));
    read_at(at, part);
    checksum.add(part);
    at += part.size();
  }
  std::uint64_t stated = 0;
  read_at(end_, std::as_writable_bytes(std::span(&stated, 1)));
  if (stated != checksum.value()) {
    refuse("is damaged or cut off: the checksum in its last 8 bytes is not that of the " + std::to_string(end_) +
           " bytes before");
  }
  at_ = kHeaderBytes;
}

void SavedReader::bytes(std::span<std::byte> out, const std::string& what) {
  if (out.size() > left()) damaged(what + " would end behind it");
  read_at(at_, out);
  at_ += out.size();
}

std::string SavedReader::text(const std::string& what) {
  std::string text(count(1, "the length of " + what), '\0');
  bytes(std::as_writable_bytes(std::span(text)), what);
  return text;
}

std::size_t SavedReader::count(std::size_t bytes_each, const std::string& what) {
  const auto stated = number<std::uint64_t>(what);
  if (stated > left() / bytes_each) {
    damaged(what + " is " + std::to_string(stated) + ", and the rest of the file has " + std::to_string(left()) +
            " bytes");
  }
  return checked_count(stated, left(), what);
}

void SavedReader::finish() {
  if (left() > 0) damaged("there are " + std::to_string(left()) + " bytes too many");
}

void SavedReader::damaged(const std::string& why) const {
  refuse("is damaged at byte " + std::to_string(at_) + ": " + why);
}

void SavedReader::refuse(const std::string& why) const { throw DataError(file_.string() + ": " + why); }

}  // namespace skyrank::exec
