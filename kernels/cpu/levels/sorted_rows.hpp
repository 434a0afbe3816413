#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/common/problem.hpp"
#include "kernels/cpu/levels/levels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/topk/radix_sort.hpp"

// Rows in the order of their keys.
namespace skyrank::kernels::levels {

inline constexpr std::size_t kSortGrain = std::size_t{1} << 14;  ///< rows that one thread takes at a time

/// A row id in the low half, 32 bits of its key in the high one.
using PackedRow = std::uint64_t;

inline std::uint32_t row_of(PackedRow packed) { return static_cast<std::uint32_t>(packed); }

/// Sorts rows stably by the 32 bits of their keys from `shift` on.
template <class Key>
void sort_by_word(const Key* keys, int shift, Scratch<PackedRow>& rows, const Context& context) {
  parallel_for(rows.size(), kSortGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t row = row_of(rows[i]);
      rows[i] = std::uint64_t{static_cast<std::uint32_t>(keys[row] >> shift)} << 32 | row;
    }
  });
  topk::RadixSort<PackedRow>::sort(rows, 32, context);
}

/// Sorts rows stably by the keys of one column.
template <class Key>
void sort_by_column(const Key* keys, Scratch<PackedRow>& rows, const Context& context) {
  sort_by_word(keys, 0, rows, context);
  if constexpr (sizeof(Key) == 8) sort_by_word(keys, 32, rows, context);
}

/// The rows [0, n) in ascending order.
inline Scratch<PackedRow> all_rows(std::size_t n) {
  Scratch<PackedRow> rows(n);
  parallel_for(n, kSortGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) rows[i] = i;
  });
  return rows;
}

/// The height of a row, or 1 where none are given.
inline std::int32_t height_of(const LevelsProblem& problem, std::uint32_t row) {
  return problem.heights.empty() ? 1 : problem.heights[row];
}

/// Level + height, without overflow and at most `max_levels`.
inline std::int32_t end_of_levels(std::int32_t level, std::int32_t height, std::int32_t max_levels) {
  return height >= max_levels - level ? max_levels : level + height;
}

}  // namespace skyrank::kernels::levels
