#include "datasets/columnar/footer/thrift.hpp"

#include <limits>

#include <skyrank/error.hpp>

#include "engine/checked_size.hpp"

namespace skyrank::datasets::thrift {
namespace {

constexpr int kMaxLevels = 64;  // of values within values, as in Thrift's own reader
constexpr unsigned kTypeBits = 4;
constexpr unsigned kTypeMask = (1U << kTypeBits) - 1;

[[noreturn]] void fail(const char* what) { throw DataError(what); }

std::int64_t signed_of(std::uint64_t zigzag) {
  return static_cast<std::int64_t>(zigzag >> 1U) ^ -static_cast<std::int64_t>(zigzag & 1U);
}

}  // namespace

std::span<const std::uint8_t> Reader::take(std::uint64_t bytes) {
  const auto taken = bytes_.first(checked_count(bytes, bytes_.size(), "the length of a text in the metadata"));
  bytes_ = bytes_.subspan(taken.size());
  return taken;
}

std::uint8_t Reader::byte() {
  if (bytes_.empty()) fail("the metadata are cut short");
  return take(1).front();
}

std::uint64_t Reader::unsigned_integer() {
  constexpr unsigned kBits = 7;
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < std::numeric_limits<std::uint64_t>::digits; shift += kBits) {
    const std::uint64_t next = byte();
    value |= (next & 0x7fU) << shift;
    if (next < 0x80) return value;
  }
  fail("a number in the metadata has more than 64 bits");
}

std::int64_t Reader::integer() { return signed_of(unsigned_integer()); }

std::string_view Reader::binary() {
  const auto bytes = take(unsigned_integer());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Type Reader::field(std::int64_t& number) {
  const std::uint8_t head = byte();
  const auto type = static_cast<Type>(head & kTypeMask);
  if (type == Type::stop) return type;
  const unsigned step = head >> kTypeBits;
  number = step == 0 ? integer() : number + step;
  if (number < 0 || number > std::numeric_limits<std::int16_t>::max()) fail("a field of the metadata has no number");
  return type;
}

std::size_t Reader::size_of_structures() {
  const std::uint8_t head = byte();
  if (static_cast<Type>(head & kTypeMask) != Type::structure) fail("a list of the metadata has no structs");
  const unsigned size = head >> kTypeBits;
  // An element has a byte at least.
  return checked_count(size == kTypeMask ? unsigned_integer() : size, bytes_.size(), "the length of a list");
}

void Reader::skip(Type type, int levels) {
  if (levels > kMaxLevels) fail("the metadata have too many levels");
  switch (type) {
    case Type::boolean_true:
    case Type::boolean_false: return;
    case Type::int8: static_cast<void>(byte()); return;
    case Type::int16:
    case Type::int32:
    case Type::int64: static_cast<void>(unsigned_integer()); return;
    case Type::real: static_cast<void>(take(sizeof(double))); return;
    case Type::binary: static_cast<void>(binary()); return;
    case Type::list:
    case Type::set: return skip_elements(levels + 1);
    case Type::map: return skip_pairs(levels + 1);
    case Type::uuid: static_cast<void>(take(16)); return;
    case Type::structure:
      return structure([&](std::int64_t, Type field) {
        skip(field, levels + 1);
        return true;
      });
    default: fail("the metadata have a field of no known type");
  }
}

void Reader::skip_elements(int levels) {
  const std::uint8_t head = byte();
  const auto type = static_cast<Type>(head & kTypeMask);
  std::uint64_t left = head >> kTypeBits;
  if (left == kTypeMask) left = unsigned_integer();
  // Booleans have a byte in a list, and none as a field.
  const bool is_boolean = type == Type::boolean_true || type == Type::boolean_false;
  for (; left > 0; --left) skip(is_boolean ? Type::int8 : type, levels);
}

void Reader::skip_pairs(int levels) {
  std::uint64_t left = unsigned_integer();
  if (left == 0) return;
  const unsigned types = byte();
  for (; left > 0; --left) {
    for (const unsigned type : {types >> kTypeBits, types & kTypeMask}) {
      skip(type == 1 || type == 2 ? Type::int8 : static_cast<Type>(type), levels);
    }
  }
}

}  // namespace skyrank::datasets::thrift
