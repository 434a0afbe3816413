#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/common/column_scan.hpp"
#include "kernels/common/expression.hpp"
#include "kernels/common/keys.hpp"

// How a kernel runs a ColumnScan for single rows: all loads are issued before the first value is looked at. Which
// column is of which type is decided by branches that all threads take alike.
namespace skyrank::kernels::cuda::topk::network {

/// A column as kernels read it, with its range in its own type.
struct ReadColumn {
  const void* values;
  const std::uint8_t* validity;  ///< null: no row is NULL
  std::size_t first_bit;         ///< bit of the first row in `validity`
  Stored stored;
  bool filtered;
  bool passes_with_value;
  bool passes_without;
  std::uint64_t lowest;  ///< bits of a value of the column
  std::uint64_t highest;
  double weight;
};

struct ReadScan {
  ReadColumn columns[ColumnScan::kMaxColumns];
  int count;
  int terms;
  bool as_it_is;
  bool integer;  ///< the score is
  bool high;
};

template <class T, class Wide>
void set_range(ReadColumn& column, const Bounds<Wide>& bounds) {
  const Bounds<T> own = narrowed<T>(bounds);
  memcpy(&column.lowest, &own.lowest, sizeof(T));
  memcpy(&column.highest, &own.highest, sizeof(T));
}

inline ReadColumn read_form(const ScannedColumn& from, double weight) {
  using Nulls = ScannedColumn::Nulls;
  ReadColumn to{};
  to.values = from.values;
  to.validity = from.validity;
  to.first_bit = static_cast<std::size_t>(from.first_validity_bit);
  to.stored = from.stored;
  to.filtered = from.filtered;
  to.passes_with_value = from.nulls != Nulls::only;
  to.passes_without = !from.filtered && from.nulls != Nulls::never;
  to.weight = weight;
  const Bounds<double> floats{from.lowest, from.highest};
  const Bounds<std::int64_t> integers{from.lowest_integer, from.highest_integer};
  switch (from.stored) {
    case Stored::float32: set_range<float>(to, floats); break;
    case Stored::float64: set_range<double>(to, floats); break;
    case Stored::int32: set_range<std::int32_t>(to, integers); break;
    default: set_range<std::int64_t>(to, integers); break;
  }
  return to;
}

inline ReadScan read_form(const ColumnScan& scan) {
  ReadScan read{};
  read.count = scan.count;
  read.terms = scan.terms;
  read.as_it_is = scan.as_it_is;
  read.integer = scan.as_it_is && !is_float(scan.columns[0].stored);
  read.high = scan.high;
  for (int c = 0; c < scan.count; ++c) read.columns[c] = read_form(scan.columns[c], scan.weights[c]);
  return read;
}

/// The value of a row of a column, and whether it has one.
struct ReadValue {
  std::uint64_t bits;
  unsigned validity = 0xff;

  __device__ void load(const ReadColumn& column, std::size_t row) {
    if (column.stored == Stored::float64 || column.stored == Stored::int64) {
      bits = static_cast<const std::uint64_t*>(column.values)[row];
    } else {
      bits = static_cast<const unsigned*>(column.values)[row];
    }
    if (column.validity != nullptr) validity = column.validity[(column.first_bit + row) / 8];
  }
  __device__ bool valid(const ReadColumn& column, std::size_t row) const {
    return (validity >> (column.first_bit + row) % 8 & 1) != 0;
  }
};

/// `f` of a value as one of the type that the column has.
template <class F>
__device__ void with_value(const ReadColumn& column, const ReadValue& read, F f) {
  const auto as = [&]<class T>(T value) {
    memcpy(&value, &read.bits, sizeof(T));
    f(value);
  };
  switch (column.stored) {
    case Stored::float32: return as(float{});
    case Stored::float64: return as(double{});
    case Stored::int64: return as(std::int64_t{});
    default: return as(std::int32_t{});
  }
}

/// The score of a row, and whether it passes and has one. The score's bits are those of the first column's value with
/// short keys, else of a double, or of an int64 where the score is an integer.
template <class Key>
struct ScannedRow {
  Key score = 0;
  bool passes = true;
  bool null = false;

  /// Column `c`. Columns come in their order.
  template <class T>
  __device__ void add(const ReadScan& scan, int c, bool valid, T value) {
    const ReadColumn& column = scan.columns[c];
    passes &= valid ? column.passes_with_value : column.passes_without;
    if (column.filtered) {
      T lowest;
      T highest;
      memcpy(&lowest, &column.lowest, sizeof(T));
      memcpy(&highest, &column.highest, sizeof(T));
      passes &= (value >= lowest) & (value <= highest);
    }
    if (c >= scan.terms) return;
    null |= !valid;
    if constexpr (sizeof(Key) == 4) {
      if constexpr (sizeof(T) == 4) score = with_bits_of<Key>(value);
    } else if (scan.as_it_is) {
      using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
      score = with_bits_of<Key>(static_cast<Wide>(value));
    } else {
      const double product = kernels::detail::product_of(column.weight, static_cast<double>(value));
      score = kernels::detail::bits_of(c == 0 ? product
                                              : kernels::detail::sum_of(kernels::detail::as_double(score), product));
    }
  }

  __device__ Key key(const ReadScan& scan) const {
    if (null) return kNullKey<Key>;
    if (!scan.integer) return float_key(score, scan.high);
    constexpr auto kSign = static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
    const auto ordered = static_cast<Key>(score ^ kSign);
    return scan.high ? static_cast<Key>(~ordered) : ordered;
  }
};

/// Looks at rows of up to `kColumns` columns.
template <unsigned kColumns, class Key, unsigned kRows>
__device__ void look_at_rows(const ReadScan& scan, const std::size_t (&rows)[kRows],
                             ScannedRow<Key> (&scanned)[kRows]) {
  ReadValue read[kRows][kColumns];
#pragma unroll
  for (int c = 0; c < static_cast<int>(kColumns); ++c) {
    if (c >= scan.count) break;
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) read[r][c].load(scan.columns[c], rows[r]);
  }
#pragma unroll
  for (int c = 0; c < static_cast<int>(kColumns); ++c) {
    if (c >= scan.count) break;
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) {
      const bool valid = read[r][c].valid(scan.columns[c], rows[r]);
      with_value(scan.columns[c], read[r][c], [&](auto value) { scanned[r].add(scan, c, valid, value); });
    }
  }
}

}  // namespace skyrank::kernels::cuda::topk::network
