#pragma once

#include <sys/mman.h>
#include <unistd.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "tests/fuzz/require.hpp"

// Draws numbers and files from the fuzzer's bytes, for targets whose inputs are files.
namespace skyrank::fuzz {

/// Numbers from the fuzzer's bytes; zeros after their end.
class Drawn {
 public:
  Drawn(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  bool is_empty() const { return at_ == end_; }
  std::uint8_t byte() { return is_empty() ? std::uint8_t{0} : *at_++; }
  /// Returns a number below `end`, and 0 where there is none.
  std::size_t below(std::size_t end) {
    const std::size_t low = byte();
    return (low | std::size_t{byte()} << 8) % (end == 0 ? 1 : end);
  }

  /// Returns a size or a count that readers get wrong, or one near `right`.
  std::int64_t count(std::int64_t right) {
    static constexpr std::array<std::int64_t, 14> kEdges = {0,
                                                            1,
                                                            -1,
                                                            127,
                                                            std::int64_t{1} << 15,
                                                            std::numeric_limits<std::int32_t>::max(),
                                                            std::int64_t{1} << 31,
                                                            std::int64_t{1} << 32,
                                                            std::int64_t{1} << 60,
                                                            std::int64_t{1} << 61,
                                                            (std::int64_t{1} << 61) + 1,
                                                            std::int64_t{1} << 62,
                                                            std::numeric_limits<std::int64_t>::max(),
                                                            std::numeric_limits<std::int64_t>::min()};
    const std::uint8_t choice = byte();
    if (choice < kEdges.size()) return kEdges[choice];
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(right) + choice - 128);
  }

  std::string rest() {
    std::string bytes(reinterpret_cast<const char*>(at_), static_cast<std::size_t>(end_ - at_));
    at_ = end_;
    return bytes;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

/// A file in memory, with a path by which readers open it.
class FileInMemory {
 public:
  explicit FileInMemory(const std::string& content) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    SKYRANK_REQUIRE(descriptor_ >= 0);
    const auto written = ::write(descriptor_, content.data(), content.size());
    SKYRANK_REQUIRE(written == static_cast<ssize_t>(content.size()));
  }
  ~FileInMemory() { ::close(descriptor_); }
  FileInMemory(const FileInMemory&) = delete;
  FileInMemory& operator=(const FileInMemory&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace skyrank::fuzz
