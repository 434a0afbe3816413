#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

// Thrift's compact protocol, in which the metadata of Parquet files are written: as far as a reader needs that looks at
// some fields and passes over all others.
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
namespace skyrank::datasets::thrift {

/// Types of fields and elements, as the protocol numbers them.
enum class Type : std::uint8_t {
  stop,
  boolean_true,
  boolean_false,
  int8,
  int16,
  int32,
  int64,
  real,
  binary,
  list,
  set,
  map,
  structure,
  uuid
};

/// Reads values one after the other, never beyond the bytes it was made of. All members throw DataError, without the
/// name of a file, where the bytes are cut short or no Thrift.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  /// Reads a struct. read(number, type) is called for each field, and returns true if it read the value, which it reads
  /// from this reader; otherwise the value is passed over.
  template <class Read>
  void structure(const Read& read) {
    std::int64_t number = 0;
    for (Type type = field(number); type != Type::stop; type = field(number)) {
      if (!read(number, type)) skip(type);
    }
  }

  /// Reads a list of structs by read(), which reads one of them.
  template <class Read>
  void structures(const Read& read) {
    for (std::size_t left = size_of_structures(); left > 0; --left) read();
  }

  std::int64_t integer();
  std::string_view binary();

 private:
  /// Reads the head of a field, whose number follows that of the field before it.
  Type field(std::int64_t& number);
  std::size_t size_of_structures();
  void skip(Type type, int levels = 0);
  void skip_elements(int levels);
  void skip_pairs(int levels);
  std::uint8_t byte();
  std::uint64_t unsigned_integer();
  std::span<const std::uint8_t> take(std::uint64_t bytes);

  std::span<const std::uint8_t> bytes_;
};

}  // namespace skyrank::datasets::thrift
