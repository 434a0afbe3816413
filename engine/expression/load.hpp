#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include <skyrank/table.hpp>

#include "engine/expression/evaluate.hpp"
#include "engine/runtime/stored_values.hpp"

// Stored values of a block of rows as contiguous arrays: in place if they are contiguous, else gathered into scratch
// memory. `scratch` has room for kBlockRows values; the block is rows[begin], ..., rows[begin + size - 1].
namespace skyrank::exec {

/// Values of a plain column whose stored values are T (uint8 for booleans, uint16 for float16).
template <class T>
const T* load_values(const ColumnData& column, const Rows& rows, std::int64_t begin, std::int64_t size, T* scratch) {
  const auto* base = static_cast<const std::byte*>(column.values);
  const std::int64_t stride = column.stride;
  if (rows.ids != nullptr) {
    const RowId* const ids = rows.ids + begin;
    for (std::int64_t i = 0; i < size; ++i) std::memcpy(&scratch[i], base + ids[i] * stride, sizeof(T));
    return scratch;
  }
  base += begin * stride;
  const bool contiguous = stride == static_cast<std::int64_t>(sizeof(T));
  if (contiguous && reinterpret_cast<std::uintptr_t>(base) % alignof(T) == 0) return reinterpret_cast<const T*>(base);
  for (std::int64_t i = 0; i < size; ++i) std::memcpy(&scratch[i], base + i * stride, sizeof(T));
  return scratch;
}

/// Booleans in any layout, as 0 or 1.
const std::uint8_t* load_booleans(const ColumnData& column, const Rows& rows, std::int64_t begin, std::int64_t size,
                                  std::uint8_t* scratch);

/// Strings in any layout; those of NULL rows are empty. `valid` is what load_validity gave for the block.
const std::string_view* load_strings(const ColumnData& column, const Rows& rows, std::int64_t begin, std::int64_t size,
                                     const std::uint8_t* valid, std::string_view* scratch);

/// Indices into the dictionary of a dictionary column; 0 for NULL rows.
const std::int64_t* load_indices(const ColumnData& column, const Rows& rows, std::int64_t begin, std::int64_t size,
                                 const std::uint8_t* valid, std::int64_t* scratch);

/// One byte a row, 0 = NULL; null when the block has no NULL.
const std::uint8_t* load_validity(const ColumnData& column, const Rows& rows, std::int64_t begin, std::int64_t size,
                                  std::uint8_t* scratch);

}  // namespace skyrank::exec
