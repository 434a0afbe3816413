#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

namespace skyrank::exec {

/// Returns the folder for temporary files: that of the environment variable TMPDIR, else /tmp.
std::filesystem::path temporary_folder();

/// A file for what does not fit memory. It has no name in its folder, so that nothing is left of it however the process
/// ends. Several threads may write and read at once. Every function throws ResourceError where the system refuses, with
/// the folder and a remedy in the message.
class TemporaryFile {
 public:
  /// Says in messages what the file is for.
  struct Content {
    std::string goes = "groups that do not fit the limit of memory go";  ///< to the file
    std::string pronoun = "them";
  };

  explicit TemporaryFile(std::filesystem::path folder) : TemporaryFile(std::move(folder), Content()) {}
  TemporaryFile(std::filesystem::path folder, Content content);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  /// Writes bytes behind all others. Returns where they begin.
  std::uint64_t append(std::span<const std::byte> bytes);

  /// Reads out.size() bytes that were written, from `at` on.
  void read(std::uint64_t at, std::span<std::byte> out) const;

  /// Returns the descriptor, which is open as long as the object lives.
  int descriptor() const { return descriptor_; }

  /// Returns the number of bytes that were appended.
  std::uint64_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  void open_unnamed();
  void open_named();
  [[noreturn]] void fail(const std::string& what, int error) const;

  std::filesystem::path folder_;
  Content content_;
  int descriptor_ = -1;
  std::atomic<std::uint64_t> size_ = 0;
};

}  // namespace skyrank::exec
