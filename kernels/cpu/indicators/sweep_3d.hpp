#pragma once

#include <cstddef>

#include "kernels/cpu/indicators/indicators.hpp"

namespace skyrank::kernels::indicators {

struct Point3 {
  double x = 0;
  double y = 0;
  double z = 0;
  std::size_t row = 0;
};

/// Points in the order of (x, y, z, row), by which they have ranks, and the order in which a sweep along z meets them.
struct SweepOrder {
  struct Step {
    double z = 0;
    std::size_t rank = 0;
  };

  RawVector<Point3> points;
  RawVector<Step> steps;  ///< ascending z, then rank: a point comes after those that dominate it or equal it
};

SweepOrder sweep_order(const PointRows& points, const Context& context);

}  // namespace skyrank::kernels::indicators
