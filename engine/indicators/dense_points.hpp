#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <skyrank/fronts.hpp>

#include "kernels/cpu/indicators/indicators.hpp"

// Brings the points of a caller, in any type and layout, into rows of float64 for the measures of fronts.
namespace skyrank::exec {

/// Says whether points may have infinite values.
enum class Infinities : std::uint8_t { refused, allowed };

/// Points as float64 values, row by row.
struct DensePoints {
  std::vector<double> values;
  std::size_t size = 0;
  std::size_t dims = 0;

  kernels::PointRows rows() const { return {values.data(), size, dims}; }
  const double* operator[](std::size_t row) const { return values.data() + row * dims; }
};

/// Throws DataError where points are none, as of `pareto_ranks`; `name` says which points they are.
void check_points(const Points& points, const std::string& name);

/// Copies points that pass `check_points`, whatever values they have.
DensePoints dense_values(const Points& points);

/// Copies points. DataError where they are no points, as of `pareto_ranks`, or have values that are refused; `name`
/// as above.
DensePoints dense_points(const Points& points, const char* name, Infinities infinities = Infinities::refused);

}  // namespace skyrank::exec
