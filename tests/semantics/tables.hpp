#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <skyrank/table.hpp>

// Small tables for cases.
namespace skyrank {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr std::int64_t kMinInt64 = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();
inline constexpr std::uint64_t kMaxUint64 = std::numeric_limits<std::uint64_t>::max();

/// NULL for what is absent.
template <class T>
Column column(std::string name, const std::vector<std::optional<T>>& cells) {
  std::vector<T> values;
  std::vector<bool> valid;
  for (const auto& cell : cells) {
    values.push_back(cell.value_or(T{}));
    valid.push_back(cell.has_value());
  }
  return Column::own(std::move(name), std::move(values), valid);
}

inline Column ints(std::string name, const std::vector<std::optional<std::int64_t>>& cells) {
  return column(std::move(name), cells);
}
inline Column floats(std::string name, const std::vector<std::optional<double>>& cells) {
  return column(std::move(name), cells);
}
inline Column strings(std::string name, const std::vector<std::string>& values) {
  return Column::own(std::move(name), values);
}

/// Every type a preference takes.
inline const std::vector<DataType>& preference_types() {
  static const std::vector<DataType> types{Type::boolean,
                                           Type::int8,
                                           Type::int16,
                                           Type::int32,
                                           Type::int64,
                                           Type::uint8,
                                           Type::uint16,
                                           Type::uint32,
                                           Type::uint64,
                                           Type::float16,
                                           Type::float32,
                                           Type::float64,
                                           Type::date,
                                           Type::timestamp,
                                           DataType(Type::timestamp, TimeUnit::nanosecond),
                                           DataType::decimal(12, 2),
                                           DataType::decimal(30, 4)};
  return types;
}

/// A half-precision float of a small integer or half of one.
inline Float16 float16(double value) {
  if (value == 0) return {};
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);  // in [0.5, 1)
  const auto mantissa = static_cast<unsigned>((fraction * 2 - 1) * 1024);
  const unsigned sign = value < 0 ? 0x8000 : 0;
  return {static_cast<std::uint16_t>(sign | static_cast<unsigned>(exponent + 14) << 10 | mantissa)};
}

template <class T>
Column column_as(std::string name, DataType type, const std::vector<std::optional<int>>& cells) {
  std::vector<T> values;
  std::vector<bool> valid;
  for (const auto& cell : cells) {
    values.push_back(static_cast<T>(cell.value_or(0)));
    valid.push_back(cell.has_value());
  }
  return Column::own_as(std::move(name), type, std::move(values), valid);
}

/// A column of any type with these small values, 0 or more for unsigned types, 0 or 1 for booleans; of decimals these
/// are multiples of the smallest.
inline Column column_of(DataType type, std::string name, const std::vector<std::optional<int>>& cells) {
  switch (type.type) {
    case Type::boolean: {
      std::vector<bool> values;
      std::vector<bool> valid;
      for (const auto& cell : cells) {
        values.push_back(cell.value_or(0) != 0);
        valid.push_back(cell.has_value());
      }
      return Column::own(std::move(name), values, valid);
    }
    case Type::int8: return column_as<std::int8_t>(std::move(name), type, cells);
    case Type::int16: return column_as<std::int16_t>(std::move(name), type, cells);
    case Type::int32:
    case Type::date: return column_as<std::int32_t>(std::move(name), type, cells);
    case Type::uint8: return column_as<std::uint8_t>(std::move(name), type, cells);
    case Type::uint16: return column_as<std::uint16_t>(std::move(name), type, cells);
    case Type::uint32: return column_as<std::uint32_t>(std::move(name), type, cells);
    case Type::uint64: return column_as<std::uint64_t>(std::move(name), type, cells);
    case Type::float32: return column_as<float>(std::move(name), type, cells);
    case Type::float64: return column_as<double>(std::move(name), type, cells);
    case Type::decimal128: return column_as<Int128>(std::move(name), type, cells);
    case Type::float16: {
      std::vector<std::optional<Float16>> halves;
      for (const auto& cell : cells) halves.push_back(cell ? std::optional(float16(*cell)) : std::nullopt);
      return column(std::move(name), halves);
    }
    default: return column_as<std::int64_t>(std::move(name), type, cells);
  }
}

}  // namespace skyrank
