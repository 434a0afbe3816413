#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "kernels/common/order.hpp"
#include "kernels/common/rows.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/parallel_sort.hpp"
#include "kernels/cpu/skyline/window.hpp"

// Code shared by algorithms that compare rows in a presorted order with a window of the rows kept before.
namespace skyrank::kernels::skyline {

/// The window of an order tree, whose rows are compared one after the other.
template <class Key>
class OrderWindow {
 public:
  using Search = typename Window<Key>::Search;

  explicit OrderWindow(const Order& order) : order_(order) {}

  std::size_t size() const { return rows_.size(); }
  void clear() { rows_.clear(); }
  void push_back(const Key* row) { rows_.push_back(row); }

  /// Looks for a row among the first `count` that is preferred to `row`.
  Search find_at_least_as_good(const Key* row, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (order_.compare(rows_[i], row) == Outcome::better) return {true, i + 1};
    }
    return {false, count};
  }

 private:
  const Order& order_;
  Vector<const Key*> rows_;
};

/// Rows of a block of distinct rows, in the presorted order, that no row of the window and no row of the block
/// dominates; they are appended to the window.
template <class Key, class KeptRows, class Counters>
class BlockFilter {
 public:
  BlockFilter(const Rows<Key>& rows, const KeptRows& none, Counters& counters, const Context& context)
      : rows_(rows), window_(none), block_window_(none), counters_(counters), context_(context) {}

  /// Removes from `block` the rows that are not in the skyline.
  void operator()(Vector<RowId>& block) {
    drop_dominated(block,
                   [&](std::size_t i) { return window_.find_at_least_as_good(rows_[block[i]], window_.size()); });
    counters_.candidates(block.size());
    block_window_.clear();
    for (const RowId row : block) block_window_.push_back(rows_[row]);
    drop_dominated(block, [&](std::size_t i) { return block_window_.find_at_least_as_good(rows_[block[i]], i); });
    for (const RowId row : block) window_.push_back(rows_[row]);
  }

 private:
  template <class Find>
  void drop_dominated(Vector<RowId>& block, const Find& find) {
    dominated_.assign(block.size(), 0);
    constexpr std::size_t kTestGrain = 32;  // rows that one thread compares at a time
    parallel_for(block.size(), kTestGrain, counters_, [&](std::size_t begin, std::size_t end, Counters& own) {
      for (std::size_t i = begin; i < end; ++i) {
        context_.check();
        const auto search = find(i);
        own.dominance_tests(search.tests);
        dominated_[i] = search.found;
      }
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (!dominated_[i]) block[kept++] = block[i];
    }
    block.resize(kept);
  }

  const Rows<Key>& rows_;
  KeptRows window_;
  KeptRows block_window_;
  Vector<std::uint8_t> dominated_;
  Counters& counters_;
  const Context& context_;
};

/// The skyline of a sequence of rows, ascending. In the sequence no row is dominated by a later one, and equal rows are
/// neighbours, of which only the first is compared. So all compared rows are distinct, and "at least as good in every
/// key" is dominance. Has: size(), row(i), ties_with_previous(i), without which rows i and i - 1 differ; keep(i),
/// called for the first of equal rows when it is in the skyline; ends_at(i), whether the rows kept so far dominate row
/// i and all later ones.
/// `none` is an empty window of the order that compares rows.
template <class Key, class KeptRows, class Sequence, class Counters>
Vector<RowId> filter_presorted(const Rows<Key>& rows, const KeptRows& none, Sequence sequence, std::size_t block_rows,
                               Counters& counters, const Context& context) {
  const std::size_t n = sequence.size();
  const std::size_t d = rows.dims();
  const auto equals_previous = [&](std::size_t i) {
    return i > 0 && sequence.ties_with_previous(i) &&
           std::equal(rows[sequence.row(i)], rows[sequence.row(i)] + d, rows[sequence.row(i - 1)]);
  };
  Vector<RowId> skyline;
  BlockFilter<Key, KeptRows, Counters> filter(rows, none, counters, context);
  Vector<RowId> block;
  Vector<std::size_t> places;  // of the block's rows in the sequence
  for (std::size_t next = 0; next < n && !sequence.ends_at(next);) {
    block.clear();
    places.clear();
    for (; next < n && block.size() < block_rows; ++next) {
      if (equals_previous(next)) continue;
      block.push_back(sequence.row(next));
      places.push_back(next);
    }
    filter(block);
    std::size_t kept = 0;
    for (const std::size_t place : places) {
      if (kept == block.size()) break;
      if (sequence.row(place) != block[kept]) continue;
      ++kept;
      sequence.keep(place);
      skyline.push_back(sequence.row(place));
      for (std::size_t i = place + 1; i < n && equals_previous(i); ++i) skyline.push_back(sequence.row(i));
    }
  }
  parallel_sort(skyline.begin(), skyline.end(), std::less<>{}, context);
  return skyline;
}

/// The same by one flat Pareto order.
template <class Key, class Sequence, class Counters>
Vector<RowId> filter_presorted(const Rows<Key>& rows, Sequence sequence, std::size_t block_rows, Counters& counters,
                               const Context& context) {
  return filter_presorted(rows, Window<Key>(rows.dims()), std::move(sequence), block_rows, counters, context);
}

}  // namespace skyrank::kernels::skyline
