#include "tools/bench/data/file_data.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include <skyrank/error.hpp>

#include "kernels/common/keys.hpp"

namespace skyrank::bench {
namespace {

using kernels::KeyWidth;

/// Calls f(T{}) with the C++ type of a numeric column and returns true; false for all other types.
template <class F>
bool with_number(Type type, const F& f) {
  switch (type) {
    case Type::int8: return f(std::int8_t{}), true;
    case Type::int16: return f(std::int16_t{}), true;
    case Type::int32: return f(std::int32_t{}), true;
    case Type::int64: return f(std::int64_t{}), true;
    case Type::uint8: return f(std::uint8_t{}), true;
    case Type::uint16: return f(std::uint16_t{}), true;
    case Type::uint32: return f(std::uint32_t{}), true;
    case Type::uint64: return f(std::uint64_t{}), true;
    case Type::float32: return f(float{}), true;
    case Type::float64: return f(double{}), true;
    default: return false;
  }
}

template <class T>
auto key_of(T value, bool high) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    return kernels::float_key(std::bit_cast<Bits>(value), high);
  } else {
    using Limits = std::numeric_limits<T>;
    return kernels::IntegerKey<T>(high ? Limits::max() : Limits::min(), high)(value);
  }
}

int key_bytes(const Column& column, const Cell& cell) {
  int bytes = 0;
  const bool number = with_number(column.type().type, [&](auto value) { bytes = sizeof(value); });
  const Location where{cell.file.string()};
  if (!number) throw DataError("column '" + column.name() + "' has no numbers; a cell needs numbers", where);
  if (column.may_have_nulls()) {
    for (std::int64_t row = 0; row < column.size(); ++row) {
      if (!column.is_null(row)) continue;
      throw DataError("column '" + column.name() + "' is NULL in row " + std::to_string(row) + "; a cell needs numbers",
                      where);
    }
  }
  return bytes;
}

template <class Key>
std::shared_ptr<const void> make_keys(const Column& column, const Cell& cell) {
  const auto n = static_cast<std::size_t>(cell.n);
  auto keys = std::make_shared_for_overwrite<Key[]>(n);
  const ColumnData& data = column.data();
  const auto rows = static_cast<std::size_t>(data.length);
  with_number(data.type.type, [&]<class T>(T) {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, n, 1 << 16), [&](const auto& range) {
      for (std::size_t i = range.begin(); i < range.end(); ++i) {
        T value;
        const auto row = static_cast<std::int64_t>(i % rows);
        std::memcpy(&value, static_cast<const char*>(data.values) + row * data.stride, sizeof(T));
        keys[i] = static_cast<Key>(key_of(value, cell.high));
      }
    });
  });
  return keys;
}

std::shared_ptr<const void> make_keys(const Column& column, KeyWidth width, const Cell& cell) {
  switch (width) {
    case KeyWidth::bytes1: return make_keys<std::uint8_t>(column, cell);
    case KeyWidth::bytes2: return make_keys<std::uint16_t>(column, cell);
    case KeyWidth::bytes4: return make_keys<std::uint32_t>(column, cell);
    case KeyWidth::bytes8: break;
  }
  return make_keys<std::uint64_t>(column, cell);
}

}  // namespace

Data read_data(const Cell& cell, const ReadColumns& read) {
  const Location where{cell.file.string()};
  if (!read) throw QueryError("this program does not read files; skyrank bench does", where);
  const Table table = read(cell.file, cell.columns);
  if (table.num_rows() == 0) throw DataError("has no rows", where);
  std::vector<int> bytes;
  for (const Column& column : table.columns()) bytes.push_back(key_bytes(column, cell));
  // The columns of a skyline have one width.
  const int widest = std::max(4, *std::ranges::max_element(bytes));
  Data data;
  data.n = static_cast<std::size_t>(cell.n);
  for (std::size_t c = 0; c < bytes.size(); ++c) {
    const auto width = static_cast<KeyWidth>(cell.op == Op::skyline ? widest : bytes[c]);
    data.memory.push_back(make_keys(table.column(static_cast<int>(c)), width, cell));
    data.keys.push_back({data.memory.back().get(), width});
  }
  return data;
}

}  // namespace skyrank::bench
