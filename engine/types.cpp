#include <skyrank/types.hpp>

#include <bit>

#include "engine/decimal.hpp"
#include "engine/text.hpp"
#include "engine/time.hpp"

namespace skyrank {
inline namespace v0 {
namespace {

const char* suffix(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::second: return "s";
    case TimeUnit::millisecond: return "ms";
    case TimeUnit::microsecond: return "us";
    case TimeUnit::nanosecond: return "ns";
  }
  return "?";
}

struct Printer {
  std::string operator()(Null) const { return {}; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(std::uint64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return format_number(value); }
  std::string operator()(Date value) const { return format_date(value); }
  std::string operator()(Timestamp value) const { return format_timestamp(value); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(Decimal value) const { return format_decimal(value); }
};

}  // namespace

std::string to_string(DataType type) {
  switch (type.type) {
    case Type::boolean: return "bool";
    case Type::int8: return "int8";
    case Type::int16: return "int16";
    case Type::int32: return "int32";
    case Type::int64: return "int64";
    case Type::uint8: return "uint8";
    case Type::uint16: return "uint16";
    case Type::uint32: return "uint32";
    case Type::uint64: return "uint64";
    case Type::float16: return "float16";
    case Type::float32: return "float32";
    case Type::float64: return "float64";
    case Type::date: return "date";
    case Type::timestamp: return std::string("timestamp[") + suffix(type.unit) + "]";
    case Type::decimal64:
    case Type::decimal128: return "decimal(" + std::to_string(type.precision) + "," + std::to_string(type.scale) + ")";
    case Type::string: return "string";
  }
  return "?";
}

std::string to_string(const Value& value) { return std::visit(Printer{}, value); }

Float16::operator float() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;  // zero and subnormals
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t widened = exponent == 0x1F ? 0xFFU : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (widened << 23) | (fraction << 13));
}

float to_float(Float16 value) { return static_cast<float>(value); }

}  // namespace v0
}  // namespace skyrank
