#pragma once

#include <cstdint>
#include <span>

#include "engine/runtime/query_memory.hpp"

// Describes partitions as segments of a list of rows, which kernels answer apart from each other.
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

/// The order in which one launch that ranks all segments gathers the answer on the device.
struct DeviceOrder {
  std::span<const std::int64_t> segments;  ///< in the order of the answer
  const std::uint32_t* places = nullptr;   ///< in device memory: the answer's value for each position
};

/// One segment of n positions.
Segments one_segment(std::int64_t n);

/// Returns the number of rows of the largest segment.
std::int64_t largest(const Segments& segments);

/// Returns the number of segments with two rows or more; the others need no kernel.
double segments_to_solve(const Segments& segments);

}  // namespace skyrank::exec
