#include <skyrank/types.hpp>

#include <bit>

#include "engine/decimal.hpp"
#include "engine/text.hpp"
#include "engine/time.hpp"

// Texts of types and values.
namespace skyrank {
inline namespace v0 {
namespace {

constexpr const char* kUnits[] = {"s", "ms", "us", "ns"};
constexpr const char* kNames[] = {"bool",    "int8",    "int16",  "int32",     "int64",   "uint8",
                                  "uint16",  "uint32",  "uint64", "decimal",   "decimal", "float16",
                                  "float32", "float64", "date",   "timestamp", "string"};

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
  std::string name = kNames[static_cast<std::size_t>(type.type)];
  if (type.type == Type::timestamp) name.append("[").append(kUnits[static_cast<std::size_t>(type.unit)]) += ']';
  if (is_decimal(type.type)) name += "(" + std::to_string(type.precision) + "," + std::to_string(type.scale) + ")";
  return name;
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
