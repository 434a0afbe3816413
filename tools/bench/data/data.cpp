#include "tools/bench/data/data.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "datasets/generate/generate.hpp"
#include "datasets/generate/random.hpp"
#include "kernels/common/keys.hpp"
#include "tools/bench/data/file_data.hpp"

namespace skyrank::bench {
namespace {

template <class To>
To converted(float value) {
  if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else {
    if (value <= 0) return 0;
    if (!(value < 1)) return std::numeric_limits<To>::max();  // NaN too
    return static_cast<To>(std::ldexp(static_cast<double>(value), std::numeric_limits<To>::digits));
  }
}

template <class To>
To converted(std::uint32_t value) {
  if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else {
    return static_cast<To>(std::min<std::uint64_t>(value, std::numeric_limits<To>::max()));
  }
}

std::uint32_t key_of(float value) { return kernels::float_key(std::bit_cast<std::uint32_t>(value), false); }
std::uint64_t key_of(double value) { return kernels::float_key(std::bit_cast<std::uint64_t>(value), false); }
template <class Integer>
Integer key_of(Integer value) {
  return value;
}

/// Calls f(T{}) with the C++ type of a cell's values.
template <class F>
void with_type(Type type, const F& f) {
  switch (type) {
    case Type::float32: return f(float{});
    case Type::float64: return f(double{});
    case Type::uint8: return f(std::uint8_t{});
    case Type::uint16: return f(std::uint16_t{});
    case Type::uint32: return f(std::uint32_t{});
    case Type::uint64: return f(std::uint64_t{});
    default: throw std::logic_error("no keys of this type");
  }
}

/// Returns what keys are combined with so that the least of them is the best value.
template <class Key>
Key flipped_bits(const Cell& cell) {
  return cell.high ? static_cast<Key>(~Key{0}) : Key{0};
}

template <class Key, class Value, class Generated>
std::shared_ptr<const void> make_keys(const Generated* values, std::size_t n, Key flipped) {
  auto keys = std::make_shared_for_overwrite<Key[]>(n);
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, n, 1 << 16), [&](const auto& range) {
    for (std::size_t i = range.begin(); i < range.end(); ++i)
      keys[i] = static_cast<Key>(Key{key_of(converted<Value>(values[i]))} ^ flipped);
  });
  return keys;
}

template <class Key, class Value>
std::shared_ptr<const void> make_keys(const Column& column, const Cell& cell) {
  const Key flipped = flipped_bits<Key>(cell);
  const auto n = static_cast<std::size_t>(column.size());
  const void* values = column.data().values;
  if (column.type() == Type::float32) return make_keys<Key, Value>(static_cast<const float*>(values), n, flipped);
  return make_keys<Key, Value>(static_cast<const std::uint32_t*>(values), n, flipped);
}

/// Returns a value of the random word that `unit_float` makes a float of.
template <class Value>
Value uniform_value(std::uint64_t word) {
  if constexpr (std::is_floating_point_v<Value>) {
    return static_cast<Value>(datasets::unit(word));
  } else {
    return static_cast<Value>(word >> (64 - std::numeric_limits<Value>::digits));
  }
}

/// Returns a value of [0, 1) as `converted` does.
template <class Value>
Value scaled(double value) {
  if constexpr (std::is_floating_point_v<Value>) {
    return static_cast<Value>(value);
  } else {
    return static_cast<Value>(std::ldexp(value, std::numeric_limits<Value>::digits));
  }
}

/// Returns true for distributions whose floats have fewer bits than the values of the cell's type.
bool fills_the_width(const Cell& cell) {
  constexpr std::string_view kNames[] = {"uniform", "independent", "increasing", "decreasing"};
  const bool wide = cell.type == Type::float64 || cell.type == Type::uint32 || cell.type == Type::uint64;
  return wide && std::ranges::find(kNames, cell.distribution) != std::end(kNames);
}

/// The keys of one column of such a cell.
template <class Value>
std::shared_ptr<const void> make_wide_keys(const Cell& cell, int column) {
  using Key = decltype(key_of(Value{}));
  const auto n = static_cast<std::size_t>(cell.n);
  auto keys = std::make_shared_for_overwrite<Key[]>(n);
  const auto value_of = [&](std::size_t row) {
    const std::uint64_t word = datasets::Stream(cell.seed, static_cast<std::int64_t>(row)).at(column);
    if (cell.distribution != "increasing" && cell.distribution != "decreasing") return uniform_value<Value>(word);
    const std::size_t stratum = cell.distribution == "increasing" ? row : n - 1 - row;
    return scaled<Value>((static_cast<double>(stratum) + datasets::unit(word)) / static_cast<double>(n));
  };
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, n, 1 << 16), [&](const auto& range) {
    for (std::size_t i = range.begin(); i < range.end(); ++i)
      keys[i] = static_cast<Key>(key_of(value_of(i)) ^ flipped_bits<Key>(cell));
  });
  return keys;
}

Data make_wide_data(const Cell& cell) {
  Data data;
  data.n = static_cast<std::size_t>(cell.n);
  for (int column = 0; column < cell.d; ++column) {
    with_type(cell.type, [&]<class Value>(Value) { data.memory.push_back(make_wide_keys<Value>(cell, column)); });
    data.keys.push_back({data.memory.back().get(), key_width(cell)});
  }
  return data;
}

}  // namespace

std::uint64_t Data::bytes() const {
  std::uint64_t sum = 0;
  for (const kernels::KeyColumn& column : keys) sum += n * static_cast<std::uint64_t>(column.width);
  return sum;
}

kernels::KeyWidth key_width(const Cell& cell) {
  const int bytes = width_in_bytes(cell.type);
  return static_cast<kernels::KeyWidth>(cell.op == Op::skyline ? std::max(4, bytes) : bytes);
}

bool same_data(const Cell& a, const Cell& b) {
  return a.distribution == b.distribution && a.file == b.file && a.columns == b.columns && a.high == b.high &&
         a.n == b.n && a.d == b.d && a.seed == b.seed && a.type == b.type && key_width(a) == key_width(b);
}

Data make_data(const Cell& cell, const ReadColumns& read) {
  if (!cell.file.empty()) return read_data(cell, read);
  if (fills_the_width(cell)) return make_wide_data(cell);
  const Table table = datasets::generate({cell.distribution, cell.n, cell.d, cell.seed});
  Data data;
  data.n = static_cast<std::size_t>(cell.n);
  for (const Column& column : table.columns()) {
    with_type(cell.type, [&]<class Value>(Value) {
      using Key = decltype(key_of(Value{}));
      using WideKey = std::conditional_t<(sizeof(Key) < 4), std::uint32_t, Key>;
      data.memory.push_back(sizeof(Key) < static_cast<std::size_t>(key_width(cell))
                                ? make_keys<WideKey, Value>(column, cell)
                                : make_keys<Key, Value>(column, cell));
    });
    data.keys.push_back({data.memory.back().get(), key_width(cell)});
  }
  return data;
}

}  // namespace skyrank::bench
