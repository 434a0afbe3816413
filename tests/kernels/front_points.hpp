#pragma once

#include <cstddef>
#include <vector>

// Points of objectives to be minimised, row by row, for tests of indicators on either device.
namespace skyrank::kernels::tests {

/// Returns true if a point is nowhere greater than another one and less somewhere.
inline bool dominates(const double* point, const double* other, std::size_t dims) {
  bool less = false;
  for (std::size_t j = 0; j < dims; ++j) {
    if (point[j] > other[j]) return false;
    less |= point[j] < other[j];
  }
  return less;
}

/// Returns the points but for one.
inline std::vector<double> without_point(std::vector<double> values, std::size_t dims, std::size_t point) {
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(point * dims);
  values.erase(first, first + static_cast<std::ptrdiff_t>(dims));
  return values;
}

}  // namespace skyrank::kernels::tests
