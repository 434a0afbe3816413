#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <skyrank/export.hpp>

// Defines the exceptions of the library. All derive from Error and say where, what, and what would be right.
namespace skyrank {
inline namespace v0 {

/// A place in a text that a person wrote. `line` and `column` count from 1; 0 means unknown.
/// `source` is a file name, or a word such as "expression" for text that came through the C++ API.
struct Location {
  std::string source;       ///< file name or word
  std::int64_t line = 0;    ///< from 1
  std::int64_t column = 0;  ///< from 1, in characters

  bool operator==(const Location&) const = default;
};

/// "file:line:column", leaving out what is unknown; empty for an unknown place.
SKYRANK_EXPORT std::string to_string(const Location& location);

/// Base of everything SkyRank throws. `what()` begins with the place where one is known and says what is wrong and
/// what would be right.
class SKYRANK_EXPORT Error : public std::runtime_error {
 public:
  /// Makes an error whose text is the place, if one is known, and the message.
  explicit Error(const std::string& message, Location location = {});

  /// Returns the place; its parts are 0 or empty where they are unknown.
  const Location& location() const noexcept { return location_; }
  /// The message without the place.
  const std::string& message() const noexcept { return message_; }

 private:
  Location location_;
  std::string message_;
};

/// The text of a query or of an expression is malformed.
class SKYRANK_EXPORT QueryError : public Error {
 public:
  using Error::Error;
};

/// A name does not resolve, or a type does not fit.
class SKYRANK_EXPORT BindError : public Error {
 public:
  using Error::Error;
};

/// The data are at fault: a ragged file, an integer overflow in row 17, a NaN under `nan: error`.
class SKYRANK_EXPORT DataError : public Error {
 public:
  using Error::Error;
};

/// No usable device, or the device failed.
class SKYRANK_EXPORT DeviceError : public Error {
 public:
  using Error::Error;
};

/// Memory, disk or another resource of the system ran out or was refused.
class SKYRANK_EXPORT ResourceError : public Error {
 public:
  using Error::Error;
};

/// The caller's stop token ended the query.
class SKYRANK_EXPORT CancelledError : public Error {
 public:
  using Error::Error;
};

/// The query took longer than its time limit.
class SKYRANK_EXPORT TimeoutError : public Error {
 public:
  using Error::Error;
};

}  // namespace v0
}  // namespace skyrank
