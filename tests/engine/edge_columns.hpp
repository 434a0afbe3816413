#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <skyrank/table.hpp>

// Columns of every type whose values are the ones at which things break.
namespace skyrank::exec {

template <class T>
std::vector<T> edge_values() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, Float16>) {
    std::vector<Float16> values;
    for (const unsigned bits : {0x0000u, 0x8000u, 0x0001u, 0x8001u, 0x03ffu, 0x3c00u, 0xbc00u, 0x7bffu, 0xfbffu,
                                0x7c00u, 0xfc00u, 0x7e00u, 0xfe00u, 0x7c01u, 0x4248u}) {
      values.push_back(Float16{static_cast<std::uint16_t>(bits)});
    }
    return values;
  } else if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const auto nan = std::bit_cast<Bits>(Limits::quiet_NaN());
    const Bits sign = Bits{1} << (8 * sizeof(T) - 1);
    return {T(0.0),
            -T(0.0),
            T(1),
            T(-1),
            T(2.5),
            T(-2.5),
            Limits::min(),
            -Limits::min(),
            Limits::denorm_min(),
            -Limits::denorm_min(),
            Limits::max(),
            Limits::lowest(),
            Limits::infinity(),
            -Limits::infinity(),
            std::bit_cast<T>(nan),
            std::bit_cast<T>(static_cast<Bits>(nan | sign)),
            std::bit_cast<T>(static_cast<Bits>(nan | 1)),
            std::bit_cast<T>(static_cast<Bits>(~Bits{0})),
            T(9007199254740992.0),
            T(9223372036854775808.0),
            T(-9223372036854775808.0),
            T(18446744073709551616.0)};
  } else {
    std::vector<T> values{Limits::min(), static_cast<T>(Limits::min() + 1), T(0),         T(1), T(2), T(3),
                          T(100),        static_cast<T>(Limits::max() - 1), Limits::max()};
    if constexpr (std::is_signed_v<T>) values.insert(values.end(), {T(-1), T(-2), T(-100)});
    if constexpr (sizeof(T) == 8) {
      values.insert(values.end(), {T{9007199254740991}, T{9007199254740992}, T{9007199254740993}});
    }
    if constexpr (std::is_same_v<T, std::uint64_t>) values.insert(values.end(), {T{1} << 63, (T{1} << 63) + 1});
    return values;
  }
}

/// Every value of `first` with every one of `second`: `first` in the outer loop for `outer`, else in the inner one.
template <class T>
Column paired_column(std::string name, DataType type, const std::vector<T>& values, std::size_t others, bool outer) {
  std::vector<T> all;
  std::vector<bool> valid;
  // The last place stands for NULL, over a value that would fail most things.
  const std::size_t n = values.size() + 1;
  for (std::size_t i = 0; i < n * others; ++i) {
    const std::size_t place = outer ? i / others : i % n;
    valid.push_back(place < values.size());
    all.push_back(values[place % values.size()]);
  }
  return Column::own_as(std::move(name), type, std::move(all), valid);
}

/// Calls `f(type, edge values)` for every type that is a number.
template <class F>
void for_number_types(F f) {
  f(Type::int8, edge_values<std::int8_t>());
  f(Type::int16, edge_values<std::int16_t>());
  f(Type::int32, edge_values<std::int32_t>());
  f(Type::int64, edge_values<std::int64_t>());
  f(Type::uint8, edge_values<std::uint8_t>());
  f(Type::uint16, edge_values<std::uint16_t>());
  f(Type::uint32, edge_values<std::uint32_t>());
  f(Type::uint64, edge_values<std::uint64_t>());
  f(Type::float16, edge_values<Float16>());
  f(Type::float32, edge_values<float>());
  f(Type::float64, edge_values<double>());
}

/// Calls `f(type, edge values)` for dates and timestamps of every unit.
template <class F>
void for_time_types(F f) {
  f(DataType(Type::date), edge_values<std::int32_t>());
  for (const TimeUnit unit : {TimeUnit::second, TimeUnit::millisecond, TimeUnit::microsecond, TimeUnit::nanosecond}) {
    std::vector<std::int64_t> ticks = edge_values<std::int64_t>();
    ticks.insert(ticks.end(), {86'400, 86'400'000, 86'400'000'000, 86'400'000'000'000, 172'800, 1'000, 1'000'000});
    f(DataType(Type::timestamp, unit), ticks);
  }
}

}  // namespace skyrank::exec
