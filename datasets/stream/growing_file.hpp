#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

namespace skyrank::datasets {

/// The bytes of a pipe, or of a file that grows, as they come. DataError where a file becomes shorter, ResourceError
/// where the system refuses, and CancelledError soon after a stop is requested, also while nothing comes.
class GrowingFile {
 public:
  /// Opens a file; `-` is the standard input. With `follow`, a regular file has no end.
  GrowingFile(const std::filesystem::path& file, bool follow, std::stop_token stop);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  /// Waits until there are bytes, and adds up to `max_bytes` of them to a text. Returns false at the end.
  bool read(std::string& text, std::size_t max_bytes);

  /// Returns false for a pipe or a device.
  bool is_regular() const { return is_regular_; }

  /// Name of the file in messages.
  const std::string& name() const { return name_; }

 private:
  void wait_for_bytes() const;
  void check_stop() const;
  [[noreturn]] void fail(int error) const;

  std::string name_;
  std::stop_token stop_;
  int descriptor_ = -1;
  bool is_regular_ = false;
  bool follow_ = false;
  std::uint64_t read_ = 0;
};

}  // namespace skyrank::datasets
