#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>

#include <skyrank/export.hpp>

// Declares the types of columns, single values, and the places in texts that messages name.
namespace skyrank {
inline namespace v0 {

/// 0-based position of a row in the input table.
using RowId = std::int64_t;

/// Storage types of values.
enum class Type : std::uint8_t {
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  decimal64,   ///< decimals of up to 18 digits: int64 multiples of 10^(-scale)
  decimal128,  ///< decimals of up to 38 digits: Int128 multiples of 10^(-scale)
  float16,
  float32,
  float64,
  date,       ///< int32 days since 1970-01-01
  timestamp,  ///< int64 ticks of DataType::unit since 1970-01-01 00:00:00 UTC
  string,
};

/// Units of timestamps.
enum class TimeUnit : std::uint8_t { second, millisecond, microsecond, nanosecond };

/// Signed integer of 128 bits.
__extension__ using Int128 = __int128;

/// Digits of the widest decimal that decimal64 stores.
inline constexpr int kMaxDigits64 = 18;
/// Digits of the widest decimal that decimal128 stores.
inline constexpr int kMaxDigits128 = 38;

/// The type of a column: a storage type and what it needs besides.
struct DataType {
  Type type = Type::float64;         ///< storage
  TimeUnit unit = TimeUnit::second;  ///< meaningful for timestamps only
  std::uint8_t precision = 0;        ///< digits in all; meaningful for decimals only
  std::uint8_t scale = 0;            ///< digits behind the point, at most `precision`; meaningful for decimals only

  /// Makes the type of float64 values.
  constexpr DataType() = default;
  /// Makes a data type of a storage type, and the unit of timestamps.
  constexpr DataType(Type t, TimeUnit u = TimeUnit::second) : type(t), unit(u) {}  // NOLINT: a Type is a DataType
  /// Returns the type of decimals with `digits` digits, `decimals` of them behind the point, in the narrowest storage.
  /// Throws std::invalid_argument unless 1 <= digits <= 38 and 0 <= decimals <= digits.
  static constexpr DataType decimal(int digits, int decimals) {
    if (digits < 1 || digits > kMaxDigits128 || decimals < 0 || decimals > digits) {
      throw std::invalid_argument("a decimal has 1 to 38 digits, and no more than these behind the point");
    }
    DataType result(digits <= kMaxDigits64 ? Type::decimal64 : Type::decimal128);
    result.precision = static_cast<std::uint8_t>(digits);
    result.scale = static_cast<std::uint8_t>(decimals);
    return result;
  }
  bool operator==(const DataType&) const = default;
};

/// "int32", "timestamp[us]", "decimal(12,2)", ...
SKYRANK_EXPORT std::string to_string(DataType type);

/// Returns true for int8 to int64.
constexpr bool is_signed_integer(Type t) { return t >= Type::int8 && t <= Type::int64; }
/// Returns true for uint8 to uint64.
constexpr bool is_unsigned_integer(Type t) { return t >= Type::uint8 && t <= Type::uint64; }
/// Returns true for signed and unsigned integers.
constexpr bool is_integer(Type t) { return t >= Type::int8 && t <= Type::uint64; }
/// Returns true for decimals.
constexpr bool is_decimal(Type t) { return t == Type::decimal64 || t == Type::decimal128; }
/// Returns true for float16 to float64.
constexpr bool is_floating(Type t) { return t >= Type::float16 && t <= Type::float64; }
/// Returns true for integers, decimals and floats.
constexpr bool is_numeric(Type t) { return t >= Type::int8 && t <= Type::float64; }
/// Returns true for dates and timestamps.
constexpr bool is_temporal(Type t) { return t == Type::date || t == Type::timestamp; }

/// Bytes of one stored value; 0 for strings, and 1 for booleans (which may also be packed as bits).
constexpr int width_in_bytes(Type t) {
  switch (t) {
    case Type::boolean:
    case Type::int8:
    case Type::uint8: return 1;
    case Type::int16:
    case Type::uint16:
    case Type::float16: return 2;
    case Type::int32:
    case Type::uint32:
    case Type::float32:
    case Type::date: return 4;
    case Type::int64:
    case Type::uint64:
    case Type::float64:
    case Type::timestamp:
    case Type::decimal64: return 8;
    case Type::decimal128: return 16;
    case Type::string: return 0;
  }
  return 0;
}

/// IEEE 754 binary16 by its bits.
struct Float16 {
  std::uint16_t bits = 0;  ///< sign, exponent and fraction

  /// Returns the same value as a float, exactly.
  SKYRANK_EXPORT explicit operator float() const;
  bool operator==(const Float16&) const = default;
};

/// Returns the same value as a float, exactly.
[[deprecated("use static_cast<float>")]] SKYRANK_EXPORT float to_float(Float16 value);

/// Days since 1970-01-01.
struct Date {
  std::int32_t days = 0;  ///< negative before 1970
  auto operator<=>(const Date&) const = default;
};

/// Ticks of `unit` since 1970-01-01 00:00:00 UTC. Equality is of the representation.
struct Timestamp {
  std::int64_t ticks = 0;            ///< negative before 1970
  TimeUnit unit = TimeUnit::second;  ///< length of a tick
  bool operator==(const Timestamp&) const = default;
};

/// The number unscaled / 10^scale, with 0 <= scale <= 38. Equality is of the representation.
struct Decimal {
  Int128 unscaled = 0;  ///< the number without its point
  int scale = 0;        ///< digits behind the point
  bool operator==(const Decimal&) const = default;
};

/// NULL.
struct Null {
  bool operator==(const Null&) const = default;
};

/// One value of any type. Integers are stored as int64 unless only uint64 holds them; all floats as double (exact).
using Value = std::variant<Null, bool, std::int64_t, std::uint64_t, double, Date, Timestamp, std::string, Decimal>;

/// Returns the text that the CSV writer writes: the shortest that reads back to the same value; NULL is empty.
SKYRANK_EXPORT std::string to_string(const Value& value);

/// The Type that stores a C++ type; undefined for types that no column stores.
template <class T>
struct TypeOf;
template <>
struct TypeOf<bool> : std::integral_constant<Type, Type::boolean> {};
template <>
struct TypeOf<std::int8_t> : std::integral_constant<Type, Type::int8> {};
template <>
struct TypeOf<std::int16_t> : std::integral_constant<Type, Type::int16> {};
template <>
struct TypeOf<std::int32_t> : std::integral_constant<Type, Type::int32> {};
template <>
struct TypeOf<std::int64_t> : std::integral_constant<Type, Type::int64> {};
template <>
struct TypeOf<std::uint8_t> : std::integral_constant<Type, Type::uint8> {};
template <>
struct TypeOf<std::uint16_t> : std::integral_constant<Type, Type::uint16> {};
template <>
struct TypeOf<std::uint32_t> : std::integral_constant<Type, Type::uint32> {};
template <>
struct TypeOf<std::uint64_t> : std::integral_constant<Type, Type::uint64> {};
template <>
struct TypeOf<Float16> : std::integral_constant<Type, Type::float16> {};
template <>
struct TypeOf<float> : std::integral_constant<Type, Type::float32> {};
template <>
struct TypeOf<double> : std::integral_constant<Type, Type::float64> {};
template <>
struct TypeOf<Date> : std::integral_constant<Type, Type::date> {};

/// Returns the Type that stores a C++ type.
template <class T>
constexpr Type type_of() {
  return TypeOf<T>::value;
}

/// Types of values of a fixed width.
template <class T>
concept FixedWidthValue = requires {
  TypeOf<T>::value;
};

}  // namespace v0
}  // namespace skyrank
