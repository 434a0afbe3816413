#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <skyrank/types.hpp>

// Values of columns as they lie in memory.
namespace skyrank::exec {

/// Calls `f(T{})` with the C++ type that stores a fixed-width `type`: uint8 for booleans, int32 for dates, int64 for
/// timestamps and decimal64, Int128 for decimal128, Float16 for float16.
template <class F>
decltype(auto) with_stored_type(Type type, F&& f) {
  switch (type) {
    case Type::boolean:
    case Type::uint8: return f(std::uint8_t{});
    case Type::int8: return f(std::int8_t{});
    case Type::int16: return f(std::int16_t{});
    case Type::int32:
    case Type::date: return f(std::int32_t{});
    case Type::uint16: return f(std::uint16_t{});
    case Type::uint32: return f(std::uint32_t{});
    case Type::uint64: return f(std::uint64_t{});
    case Type::float16: return f(Float16{});
    case Type::float32: return f(float{});
    case Type::float64: return f(double{});
    case Type::decimal128: return f(Int128{});
    case Type::int64:
    case Type::decimal64:
    case Type::timestamp:
    case Type::string: break;
  }
  return f(std::int64_t{});
}

/// The string of a row whose characters lie between two offsets. An empty one may stand in a column without characters.
template <class Offset>
std::string_view slice(const void* characters, const Offset* offsets, std::int64_t row) {
  const auto length = static_cast<std::size_t>(offsets[row + 1] - offsets[row]);
  if (length == 0) return {};
  return {static_cast<const char*>(characters) + offsets[row], length};
}

}  // namespace skyrank::exec
