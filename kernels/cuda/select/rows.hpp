#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/common/host_device.hpp"

// The rows that are selected from, and the place of the answer.
namespace skyrank::kernels::cuda::select {

/// The rows of a matrix without gaps between columns, each divided into parts of about equal length.
template <class Stored>
struct RowParts {
  const Stored* numbers = nullptr;  ///< in device memory
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t stride = 0;  ///< numbers from the beginning of a row to that of the next one
  std::size_t parts = 1;   ///< parts of a row

  /// Returns the number of parts of all rows.
  SKYRANK_HD std::size_t count() const { return rows * parts; }
  /// Returns the first column of part i of all rows.
  SKYRANK_HD std::size_t first_column(std::size_t i) const { return parts == 1 ? 0 : i % parts * columns / parts; }
  SKYRANK_HD std::size_t size(std::size_t i) const {
    return parts == 1 ? columns : (i % parts + 1) * columns / parts - first_column(i);
  }
  /// Returns the place of the first number of part i.
  SKYRANK_HD std::size_t begin(std::size_t i) const {
    return parts == 1 ? i * stride : i / parts * stride + first_column(i);
  }
  /// Returns the most columns of any part.
  SKYRANK_HD std::size_t most_columns() const { return (columns + parts - 1) / parts; }
};

/// An array of integers of 32 or 64 bits.
struct Positions {
  void* data = nullptr;
  bool wide = false;  ///< they have 64 bits

  /// Returns those from place i on.
  Positions from(std::size_t i) const {
    if (wide) return {static_cast<std::int64_t*>(data) + i, wide};
    return {static_cast<std::int32_t*>(data) + i, wide};
  }
  SKYRANK_HD std::int64_t operator[](std::size_t i) const {
    return wide ? static_cast<const std::int64_t*>(data)[i] : static_cast<const std::int32_t*>(data)[i];
  }
  SKYRANK_HD void set(std::size_t i, std::int64_t value) const {
    if (wide) {
      static_cast<std::int64_t*>(data)[i] = value;
    } else {
      static_cast<std::int32_t*>(data)[i] = static_cast<std::int32_t>(value);
    }
  }
};

/// The k best numbers of each part, part after part, and their columns.
template <class Stored>
struct Selected {
  Stored* values = nullptr;
  Positions columns = {};
};

/// The place of the answer, and what the columns of its rows are columns of.
template <class Stored>
struct RowAnswer {
  Selected<Stored> selected;
  std::size_t stride = 0;         ///< places from the answer of a part to that of the next one
  std::int64_t first_column = 0;  ///< the rows' first column in longer rows
  Positions before = {};          ///< the columns' positions there; none: they are neighbours

  /// Writes what has a rank in part i.
  SKYRANK_HD void put(const RowParts<Stored>& rows, std::size_t i, std::size_t rank, std::size_t column) const {
    const std::size_t from = rows.begin(i) + column;
    const std::size_t to = i * stride + rank;
    selected.values[to] = rows.numbers[from];
    selected.columns.set(to, before.data != nullptr
                                 ? before[from]
                                 : first_column + static_cast<std::int64_t>(rows.first_column(i) + column));
  }
};

}  // namespace skyrank::kernels::cuda::select
