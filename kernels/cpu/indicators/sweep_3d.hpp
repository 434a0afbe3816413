#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/indicators/indicators.hpp"
#include "kernels/cpu/scratch.hpp"

namespace skyrank::kernels::indicators {

struct Point3 {
  double x = 0;
  double y = 0;
  double z = 0;
  std::size_t row = 0;
};

/// Points in the order of (x, y, z, row), by which they have ranks, and the order in which a sweep along z meets them.
struct SweepOrder {
  RawVector<Point3> points;
  Scratch<std::uint64_t> ranks;  ///< by z, then rank: a point comes after those that dominate it or equal it
};

/// Finds the order of points by their first three values.
SweepOrder sweep_order(const PointRows& points, const Context& context);

/// Returns the ranks of the points of rows below `rows` that no other of these dominates, without repeated points, in
/// the order of (z, row).
RawVector<std::size_t> front_of_rows(const SweepOrder& order, std::size_t rows);

}  // namespace skyrank::kernels::indicators
