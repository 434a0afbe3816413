#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <type_traits>

#include "engine/files/output_file.hpp"

// The bytes of a saved standing query: a mark, the version of the format, what saved_rows.hpp writes, and a checksum of
// all before it. Numbers are little-endian.
namespace skyrank::exec {

/// Version of the format. It grows with every change of what is written, also of the keys of skylines and of the
/// columns of states, which lie in the file as they are.
inline constexpr std::uint64_t kSavedVersion = 1;

/// A checksum of 64 bits over bytes that come in pieces: FNV-1a over words, whose high bits are mixed down. A change of
/// one word always changes it.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes);
  /// Returns the checksum of all bytes so far.
  std::uint64_t value() const;

 private:
  void add_word(std::uint64_t word);

  std::uint64_t state_ = 0xcbf29ce484222325;
  std::uint64_t rest_ = 0;  // bytes that are no whole word yet
  std::size_t rest_bytes_ = 0;
  std::uint64_t bytes_ = 0;
};

/// Writes a file, which is there as a whole after finish(), or not at all. Throws ResourceError.
class SavedWriter {
 public:
  explicit SavedWriter(const std::filesystem::path& file);

  void bytes(std::span<const std::byte> bytes);
  void text(const std::string& text);
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void number(T value) { bytes(std::as_bytes(std::span(&value, 1))); }
  template <class T>
  void numbers(std::span<const T> values) {
    bytes(std::as_bytes(values));
  }

  void finish();

 private:
  void flush();

  OutputFile file_;
  Checksum checksum_;
  std::string buffer_;
};

/// Reads a file of anybody. `what` names in messages what is read. Throws DataError with the file's name for what is
/// none, is of another version or damaged, and ResourceError where the system refuses.
class SavedReader {
 public:
  /// Opens a file, and compares its checksum.
  explicit SavedReader(const std::filesystem::path& file);
  ~SavedReader();
  SavedReader(const SavedReader&) = delete;
  SavedReader& operator=(const SavedReader&) = delete;

  /// Reads out.size() bytes.
  void bytes(std::span<std::byte> out, const std::string& what);
  std::string text(const std::string& what);
  template <class T>
  requires std::is_trivially_copyable_v<T> T number(const std::string& what) {
    T value;
    bytes(std::as_writable_bytes(std::span(&value, 1)), what);
    return value;
  }
  /// Returns a number of things that have at least `bytes_each` > 0 bytes in the rest of the file.
  std::size_t count(std::size_t bytes_each, const std::string& what);

  /// Returns the number of bytes that are left.
  std::uint64_t left() const { return end_ - at_; }
  /// Throws where there are bytes left.
  void finish();

  /// Throws DataError for damage at the place where the reader is.
  [[noreturn]] void damaged(const std::string& why) const;
  /// Throws DataError for a file that is sound and cannot be taken.
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  void read_at(std::uint64_t at, std::span<std::byte> out) const;
  void check_checksum();

  std::filesystem::path file_;
  int descriptor_ = -1;
  std::uint64_t at_ = 0;
  std::uint64_t end_ = 0;  // where the checksum begins
};

}  // namespace skyrank::exec
