#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/parallel_sort.hpp"
#include "kernels/cpu/skyline/padded_rows.hpp"
#include "kernels/cpu/skyline/sample.hpp"

// Orders rows by the masks of a static grid, so that none is dominated by a later one.
namespace skyrank::kernels::skyline {

/// A row and its place in a static grid: per dimension one bit of each mask.
struct MaskedRow {
  std::uint64_t median = 0;    ///< above the median
  std::uint64_t quartile = 0;  ///< above the first quartile, or above the third if above the median
  std::uint32_t row = 0;
  std::uint16_t score = 0;  ///< sum of the row's levels
  std::uint8_t median_population = 0;
  std::uint8_t quartile_population = 0;
};

/// Distinct rows in an order in which none is dominated by a later one, and so that rows of one mask are neighbours:
/// by population of the median mask, that mask, the same of the quartile mask, the score, the keys. A dominating row's
/// masks are subsets (of equal median masks, also the quartile masks), and it has a lower score or, level for level, an
/// equal one; then its keys are first.
template <class Key>
struct MaskOrdered {
  Vector<std::uint64_t> median;
  Vector<std::uint64_t> quartile;
  PaddedRows<Key> keys;
  Vector<RowId> ids;          ///< rows of the problem, equal ones side by side
  Vector<std::size_t> first;  ///< place of each distinct row in `ids`, and the end

  std::size_t size() const { return median.size(); }
};

/// Orders rows[masked.row], which are the rows ids[masked.row] of the problem.
template <class Key>
MaskOrdered<Key> order_by_masks(Vector<MaskedRow> masked, const PaddedRows<Key>& rows, const RowIndices& ids,
                                const Context& context) {
  const std::size_t d = rows.dims();
  const auto head = [](const MaskedRow& it) {
    return std::tuple(it.median_population, it.median, it.quartile_population, it.quartile, it.score);
  };
  const auto before = [&](const MaskedRow& a, const MaskedRow& b) {
    const auto x = head(a);
    const auto y = head(b);
    if (x != y) return x < y;
    const auto [p, q] = std::mismatch(rows[a.row], rows[a.row] + d, rows[b.row]);
    return p == rows[a.row] + d ? a.row < b.row : *p < *q;
  };
  parallel_sort(masked.begin(), masked.end(), before, context);
  const auto equals_previous = [&](std::size_t i) {
    return head(masked[i]) == head(masked[i - 1]) &&
           std::equal(rows[masked[i].row], rows[masked[i].row] + d, rows[masked[i - 1].row]);
  };
  Vector<RowId> ordered(masked.size());
  Vector<std::size_t> first;
  first.reserve(masked.size() + 1);
  for (std::size_t i = 0; i < masked.size(); ++i) {
    ordered[i] = static_cast<RowId>(ids[masked[i].row]);
    if (i == 0 || !equals_previous(i)) first.push_back(i);
  }
  const std::size_t distinct = first.size();
  first.push_back(masked.size());
  MaskOrdered<Key> result{Vector<std::uint64_t>(distinct), Vector<std::uint64_t>(distinct),
                          PaddedRows<Key>(distinct, d), std::move(ordered), std::move(first)};
  parallel_for(distinct, 1 << 13, [&](std::size_t begin, std::size_t end) {
    context.check();
    for (std::size_t i = begin; i < end; ++i) {
      const MaskedRow& it = masked[result.first[i]];
      result.median[i] = it.median;
      result.quartile[i] = it.quartile;
      std::copy_n(rows[it.row], rows.stride(), result.keys[i]);
    }
  });
  return result;
}

/// Rows of the problem that are equal to one of the given distinct rows, ascending.
template <class Key>
Vector<RowId> rows_of(const MaskOrdered<Key>& ordered, const RowIndices& distinct, const Context& context) {
  Vector<RowId> rows;
  rows.reserve(distinct.size());
  for (const std::uint32_t i : distinct) {
    for (std::size_t p = ordered.first[i]; p < ordered.first[i + 1]; ++p) rows.push_back(ordered.ids[p]);
  }
  parallel_sort(rows.begin(), rows.end(), std::less<>{}, context);
  return rows;
}

}  // namespace skyrank::kernels::skyline
