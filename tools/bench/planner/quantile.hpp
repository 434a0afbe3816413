#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace skyrank::bench {

/// Returns the value that a share of the values, in [0, 1], is not above; 0 of none.
inline double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const std::ptrdiff_t place = std::lround(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, values.begin() + place);
  return values[static_cast<std::size_t>(place)];
}

}  // namespace skyrank::bench
