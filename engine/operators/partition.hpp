#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/operators/groups/classes.hpp"

namespace skyrank::exec {

/// Positions of a row set split into segments that are answered apart. Segment s holds the positions
/// at(bounds[s]), ..., at(bounds[s + 1] - 1), ascending.
struct Segments {
  Vector<std::int64_t> bounds;  ///< one more than there are segments, from 0 to the size of the row set
  Vector<std::int64_t> order;   ///< the positions, segment by segment; empty: 0, 1, 2, ...

  std::int64_t count() const { return static_cast<std::int64_t>(bounds.size()) - 1; }
  std::int64_t size(std::int64_t segment) const { return bounds[segment + 1] - bounds[segment]; }
  std::int64_t at(std::int64_t i) const { return order.empty() ? i : order[i]; }
};

/// One segment of n positions.
Segments one_segment(std::int64_t n);

/// A segment for each class, in the order of their numbers.
Segments segments_of(const Classes& classes);

/// Segments of equal values in `columns`, in order of their first rows.
Segments partition(const Table& table, std::span<const int> columns, const Rows& rows);

}  // namespace skyrank::exec
