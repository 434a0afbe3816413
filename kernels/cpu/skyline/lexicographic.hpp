#pragma once

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "kernels/common/problem.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/scratch.hpp"
#include "kernels/cpu/topk/radix_sort.hpp"

// Multi-key sort: most significant bits first, as a radix sort of 64-bit integers that hold 32 bits of the key and the
// row.
namespace skyrank::kernels::skyline {

/// A row in the low half, 32 bits of its key in the high one.
using KeyedRow = std::uint64_t;

inline std::uint32_t row_of(KeyedRow keyed) { return static_cast<std::uint32_t>(keyed); }

/// Sorts rows by columns of keys, the first one first. Rows come with the leading 32 bits in which their keys differ,
/// so that integers are sorted and not rows; runs of rows in which these are equal are sorted by the next bits or the
/// next column, each run on its own. O(n log n) for any keys.
template <class Key>
class LexicographicSort {
 public:
  /// Both must outlive the sort.
  LexicographicSort(std::span<const Key* const> columns, const Context& context)
      : columns_(columns), context_(context) {}

  /// Returns the rows [0, n) in order.
  Scratch<KeyedRow> operator()(std::size_t n) const {
    Scratch<KeyedRow> rows(n);
    parallel_for(n, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) rows[i] = i;
    });
    sort(rows, 0);
    return rows;
  }

 private:
  static constexpr std::size_t kGrain = 1 << 14;  ///< rows that one thread takes at a time
  static constexpr std::size_t kFew = 24;         ///< rows that are sorted by comparing them

  void sort(std::span<KeyedRow> rows, std::size_t column) const {
    if (rows.size() <= kFew) return sort_few(rows, column);
    context_.check();
    const auto [least, greatest] = range_of(rows, columns_[column]);
    // Sorts a part of a wide key first; within a run of equal parts the rest is a range of fewer bits.
    const int beyond = std::max(static_cast<int>(std::bit_width(greatest - least)) - 32, 0);
    const std::size_t next = beyond > 0 ? column : column + 1;
    if (least < greatest) sort_by_bits(rows, columns_[column], least, beyond);
    if (next == columns_.size()) return;
    if (least == greatest) return sort(rows, next);
    const Vector<Run> runs = runs_of(rows);
    const std::size_t grain = std::max<std::size_t>(runs.size() * kGrain / rows.size(), 1);
    parallel_for(runs.size(), grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) sort(rows.subspan(runs[r].first, runs[r].size), next);
    });
  }

  /// Two rows or more of equal bits.
  struct Run {
    std::size_t first = 0;
    std::size_t size = 0;
  };

  /// Returns the runs of rows that were sorted by their bits. All of them are found before one is sorted any further,
  /// which puts other bits in their place.
  Vector<Run> runs_of(std::span<const KeyedRow> rows) const {
    Vector<Run> runs;
    for (std::size_t first = 0; first < rows.size();) {
      std::size_t last = first + 1;
      while (last < rows.size() && rows[last] >> 32 == rows[first] >> 32) ++last;
      if (last - first > 1) runs.push_back({first, last - first});
      first = last;
    }
    return runs;
  }

  std::pair<Key, Key> range_of(std::span<const KeyedRow> rows, const Key* keys) const {
    Key least = keys[row_of(rows.front())];
    Key greatest = least;
    for (const KeyedRow row : rows) {
      least = std::min(least, keys[row_of(row)]);
      greatest = std::max(greatest, keys[row_of(row)]);
    }
    return {least, greatest};
  }

  void sort_by_bits(std::span<KeyedRow> rows, const Key* keys, Key least, int beyond) const {
    const auto keyed = [&](std::uint32_t row) {
      return std::uint64_t{static_cast<std::uint32_t>((keys[row] - least) >> beyond)} << 32 | row;
    };
    if (rows.size() <= kGrain) {
      for (KeyedRow& row : rows) row = keyed(row_of(row));
      hwy::Sorter()(rows.data(), rows.size(), hwy::SortAscending());
      return;
    }
    Scratch<KeyedRow> sorted(rows.size());
    const auto each = [&](const auto& body) {
      parallel_for(rows.size(), kGrain, [&](std::size_t begin, std::size_t end) {
        context_.check();
        for (std::size_t i = begin; i < end; ++i) body(i);
      });
    };
    each([&](std::size_t i) { sorted[i] = keyed(row_of(rows[i])); });
    topk::RadixSort<KeyedRow>::sort(sorted, 32, context_);
    each([&](std::size_t i) { rows[i] = sorted[i]; });
  }

  void sort_few(std::span<KeyedRow> rows, std::size_t column) const {
    std::sort(rows.begin(), rows.end(), [&](KeyedRow a, KeyedRow b) {
      for (std::size_t c = column; c < columns_.size(); ++c) {
        const Key x = columns_[c][row_of(a)];
        const Key y = columns_[c][row_of(b)];
        if (x != y) return x < y;
      }
      return row_of(a) < row_of(b);
    });
  }

  std::span<const Key* const> columns_;
  const Context& context_;
};

}  // namespace skyrank::kernels::skyline
