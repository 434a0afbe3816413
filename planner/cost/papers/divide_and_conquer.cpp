#include <algorithm>
#include <cmath>

#include "planner/cost/common.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {

Cost divide_and_conquer(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
                        const Values& values) {
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double kept = std::max(1.0, skyline_rows(shape, statistics));
  const double leaf = value_or(values, "leaf", 16);
  // Kung et al. prove n log^(d-2) n. No pair of rows is met twice, so rows that stay meet half of their pairs at most,
  // and a division settles what would be `leaf` tests of a row.
  const double levels = std::log2(std::max(2.0, kept));
  const double divided = kept * std::pow(levels, std::clamp(d - 2, 0.0, 16.0));
  const double pairs = kept * kept / 2;
  return {{{"start", 1, 2e-6},
           {"keys", n * d / threads_used(n, 16384, machine), 4e-9},
           {"sort", sort_steps(n) / threads_used(n, 16384, machine), 15e-9},
           {"halves", sort_steps(n), 5e-9},
           {"divisions", std::min(divided, pairs / leaf), 8e-9},
           {"tests", std::min(divided * leaf, pairs), 0.5e-9}},
          n * (9 + d * static_cast<double>(shape.width))};
}

}  // namespace skyrank::planner::cost
