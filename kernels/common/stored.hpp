#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/common/host_device.hpp"

// Columns of values as they are stored, before they are keys.
namespace skyrank::kernels {

/// How one value lies in memory.
enum class Stored : std::uint8_t {
  truth_bytes,  ///< one byte, zero or not
  truth_bits,   ///< one bit, least significant first
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  float32,
  float64,
};

/// Bytes of one value; 0 for bits.
constexpr std::size_t bytes_of(Stored stored) {
  switch (stored) {
    case Stored::truth_bits: return 0;
    case Stored::truth_bytes:
    case Stored::int8:
    case Stored::uint8: return 1;
    case Stored::int16:
    case Stored::uint16:
    case Stored::float16: return 2;
    case Stored::int32:
    case Stored::uint32:
    case Stored::float32: return 4;
    case Stored::int64:
    case Stored::uint64:
    case Stored::float64: break;
  }
  return 8;
}

SKYRANK_HD constexpr bool is_float(Stored stored) { return stored >= Stored::float16; }
SKYRANK_HD constexpr bool is_signed(Stored stored) { return stored >= Stored::int8 && stored <= Stored::int64; }

/// Values next to each other, and bits that say which rows have one (set: the row has; least significant first).
struct StoredColumn {
  const void* values = nullptr;
  const std::uint8_t* validity = nullptr;  ///< null: no row is NULL
  std::int64_t first_bit = 0;              ///< first bit of `values`, if they are bits
  std::int64_t first_validity_bit = 0;
  Stored stored = Stored::float64;
};

/// The object of type To that has the bits of `from`.
template <class To, class From>
SKYRANK_HD To with_bits_of(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

namespace detail {

SKYRANK_HD inline bool bit_at(const std::uint8_t* bits, std::int64_t bit) {
  return ((bits[bit >> 3] >> (bit & 7)) & 1) != 0;
}

template <class T>
SKYRANK_HD std::uint64_t extended(const void* values, std::int64_t row) {
  return static_cast<std::uint64_t>(static_cast<const T*>(values)[row]);
}

}  // namespace detail

SKYRANK_HD inline bool is_valid(const StoredColumn& column, std::int64_t row) {
  return column.validity == nullptr || detail::bit_at(column.validity, column.first_validity_bit + row);
}

/// The bits of a value: integers extended to 64 by their sign or zeros, floats as stored, truths 0 or 1.
SKYRANK_HD inline std::uint64_t stored_bits(const StoredColumn& column, std::int64_t row) {
  switch (column.stored) {
    case Stored::truth_bytes: return static_cast<const std::uint8_t*>(column.values)[row] != 0 ? 1 : 0;
    case Stored::truth_bits:
      return detail::bit_at(static_cast<const std::uint8_t*>(column.values), column.first_bit + row) ? 1 : 0;
    case Stored::int8: return detail::extended<std::int8_t>(column.values, row);
    case Stored::int16: return detail::extended<std::int16_t>(column.values, row);
    case Stored::int32: return detail::extended<std::int32_t>(column.values, row);
    case Stored::uint8: return detail::extended<std::uint8_t>(column.values, row);
    case Stored::uint16:
    case Stored::float16: return detail::extended<std::uint16_t>(column.values, row);
    case Stored::uint32:
    case Stored::float32: return detail::extended<std::uint32_t>(column.values, row);
    case Stored::int64:
    case Stored::uint64:
    case Stored::float64: break;
  }
  return detail::extended<std::uint64_t>(column.values, row);
}

/// A binary16 in binary64, exactly.
SKYRANK_HD inline double half_to_double(std::uint16_t half) {
  const std::uint64_t sign = static_cast<std::uint64_t>(half & 0x8000u) << 48;
  const unsigned exponent = (half >> 10) & 0x1fu;
  const std::uint64_t fraction = half & 0x3ffu;
  if (exponent == 0) {
    const double magnitude = static_cast<double>(fraction) * 0x1p-24;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint64_t wide = exponent == 0x1f ? 0x7ff : exponent + (1023 - 15);
  return with_bits_of<double>(sign | (wide << 52) | (fraction << 42));
}

/// The float that stored bits stand for.
SKYRANK_HD inline double to_double(Stored stored, std::uint64_t bits) {
  if (stored == Stored::float16) return half_to_double(static_cast<std::uint16_t>(bits));
  if (stored == Stored::float32) return static_cast<double>(with_bits_of<float>(static_cast<std::uint32_t>(bits)));
  return with_bits_of<double>(bits);
}

}  // namespace skyrank::kernels
