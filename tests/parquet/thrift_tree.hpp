#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Metadata of Parquet files as trees that tests change: Thrift's compact protocol, read and written without a check of
// what the values mean.
namespace skyrank::tests {

/// A value of Thrift, by its type in the protocol.
struct ThriftValue {
  static constexpr int kInt32 = 5;
  static constexpr int kInt64 = 6;
  static constexpr int kBinary = 8;
  static constexpr int kList = 9;
  static constexpr int kStruct = 12;

  int type = kStruct;
  std::int64_t integer = 0;
  std::string bytes;                  // of texts, and of numbers of a fixed width
  int element_type = kStruct;         // of lists
  std::vector<ThriftValue> elements;  // of lists
  std::vector<ThriftValue> fields;    // of structs, ascending
  int number = 0;                     // of a field

  static ThriftValue of(std::int64_t value, int type) {
    ThriftValue made;
    made.type = type;
    made.integer = value;
    return made;
  }
  static ThriftValue of(std::string text) {
    ThriftValue made;
    made.type = kBinary;
    made.bytes = std::move(text);
    return made;
  }

  /// Returns a field, or null.
  ThriftValue* find(int field) {
    for (ThriftValue& value : fields) {
      if (value.number == field) return &value;
    }
    return nullptr;
  }
  /// Returns a field, which must be there.
  ThriftValue& at(int field) {
    ThriftValue* const found = find(field);
    if (found == nullptr) throw std::out_of_range("no field " + std::to_string(field));
    return *found;
  }
  /// Returns an element of a list.
  ThriftValue& operator[](std::size_t element) { return elements.at(element); }
  /// Sets a field, or adds it.
  ThriftValue& set(int field, ThriftValue value) {
    value.number = field;
    if (ThriftValue* const found = find(field)) return *found = std::move(value);
    auto place = fields.begin();
    while (place != fields.end() && place->number < field) ++place;
    return *fields.insert(place, std::move(value));
  }
};

/// Reads values from bytes that are sound.
class ThriftReader {
 public:
  explicit ThriftReader(std::string_view bytes) : bytes_(bytes) {}

  ThriftValue read(int type = ThriftValue::kStruct) {
    ThriftValue value;
    value.type = type;
    if (type <= 2) return value;
    if (type == 3) value.integer = byte();
    if (type >= 4 && type <= 6) value.integer = integer();
    if (type == 7) value.bytes = take(8);
    if (type == ThriftValue::kBinary) value.bytes = take(unsigned_integer());
    if (type == ThriftValue::kList || type == 10) read_list(value);
    if (type == ThriftValue::kStruct) read_struct(value);
    return value;
  }

  /// Returns the number of bytes that were read.
  std::size_t position() const { return at_; }

 private:
  void read_list(ThriftValue& value) {
    const int head = byte();
    value.element_type = head & 15;
    const std::uint64_t size = head >> 4 == 15 ? unsigned_integer() : static_cast<std::uint64_t>(head >> 4);
    const bool is_boolean = value.element_type <= 2;
    for (std::uint64_t i = 0; i < size; ++i) value.elements.push_back(read(is_boolean ? 3 : value.element_type));
  }

  void read_struct(ThriftValue& value) {
    int number = 0;
    for (int head = byte(); head != 0; head = byte()) {
      number = head >> 4 == 0 ? static_cast<int>(integer()) : number + (head >> 4);
      value.fields.push_back(read(head & 15));
      value.fields.back().number = number;
    }
  }

  int byte() { return static_cast<unsigned char>(bytes_.at(at_++)); }
  std::string take(std::uint64_t size) {
    std::string taken(bytes_.substr(at_, size));
    at_ += taken.size();
    return taken;
  }
  std::uint64_t unsigned_integer() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto next = static_cast<std::uint64_t>(byte());
      value |= (next & 127U) << shift;
      if (next < 128) return value;
    }
  }
  std::int64_t integer() {
    const std::uint64_t zigzag = unsigned_integer();
    return static_cast<std::int64_t>(zigzag >> 1U) ^ -static_cast<std::int64_t>(zigzag & 1U);
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

/// Writes values, one behind the other.
class ThriftWriter {
 public:
  std::string bytes;

  void write(const ThriftValue& value) {
    if (value.type == 3) bytes += static_cast<char>(value.integer);
    if (value.type >= 4 && value.type <= 6) integer(value.integer);
    if (value.type == ThriftValue::kBinary) unsigned_integer(value.bytes.size());
    if (value.type == 7 || value.type == ThriftValue::kBinary) bytes += value.bytes;
    if (value.type == ThriftValue::kList || value.type == 10) write_list(value);
    if (value.type == ThriftValue::kStruct) write_struct(value);
  }

 private:
  void write_list(const ThriftValue& value) {
    const std::size_t size = value.elements.size();
    bytes += static_cast<char>(((size < 15 ? size : 15) << 4) | static_cast<unsigned>(value.element_type));
    if (size >= 15) unsigned_integer(size);
    for (const ThriftValue& element : value.elements) write(element);
  }

  void write_struct(const ThriftValue& value) {
    int before = 0;
    for (const ThriftValue& field : value.fields) {
      const int step = field.number - before;
      const bool is_short = step > 0 && step < 16;
      bytes += static_cast<char>((is_short ? step << 4 : 0) | field.type);
      if (!is_short) integer(field.number);
      write(field);
      before = field.number;
    }
    bytes += '\0';
  }

  void unsigned_integer(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes += static_cast<char>((value & 127U) | 128U);
    bytes += static_cast<char>(value);
  }
  void integer(std::int64_t value) {
    unsigned_integer((static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63));
  }
};

/// A Parquet file: its pages, and its footer as a tree.
struct ParquetParts {
  std::string body;
  ThriftValue footer;

  /// Takes a sound file apart.
  static ParquetParts of(std::string_view file) {
    std::uint32_t size = 0;
    for (std::size_t i = 4; i-- > 0;) size = (size << 8) | static_cast<unsigned char>(file[file.size() - 8 + i]);
    const std::size_t begin = file.size() - 8 - size;
    return {std::string(file.substr(0, begin)), ThriftReader(file.substr(begin, size)).read()};
  }

  std::string file() const {
    ThriftWriter writer;
    writer.write(footer);
    std::string file = body + writer.bytes;
    for (unsigned i = 0; i < 4; ++i) file += static_cast<char>(writer.bytes.size() >> 8 * i);
    return file + "PAR1";
  }

  ThriftValue& schema() { return footer.at(2); }
  ThriftValue& row_group(std::size_t group) { return footer.at(4)[group]; }
  ThriftValue& chunk(std::size_t group, std::size_t leaf) { return row_group(group).at(1)[leaf].at(3); }
};

}  // namespace skyrank::tests
