#pragma once

#include <cstddef>
#include <vector>

#include <skyrank/fronts.hpp>

#include "kernels/cpu/indicators/indicators.hpp"

namespace skyrank::exec {

/// Points as finite float64 values, row by row.
struct DensePoints {
  std::vector<double> values;
  std::size_t size = 0;
  std::size_t dims = 0;

  kernels::PointRows rows() const { return {values.data(), size, dims}; }
  const double* operator[](std::size_t row) const { return values.data() + row * dims; }
};

/// Copies points. DataError where they are no points, as of `pareto_ranks`, or not finite; `name` says which they are.
DensePoints dense_points(const Points& points, const char* name);

}  // namespace skyrank::exec
