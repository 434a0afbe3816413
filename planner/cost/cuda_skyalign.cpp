#include <algorithm>
#include <cmath>

#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost cuda_skyalign(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& /*machine*/) {
  constexpr double kMaskTest = 20;        // operations, those of rows that wait for others of their warp included
  constexpr double kMaskTested = 0.75;    // of pairs of rows that stay, for each dimension, by measurement
  constexpr double kDominanceTest = 400;  // operations that the time to read another row and compare it would do
  constexpr double kDominanceTested = 0.6;
  constexpr double kPasses = 12;  // over the keys, or as much moved, before the first phase
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double row_bytes = d * static_cast<double>(shape.width);
  const double kept = skyline_rows(shape, statistics);
  const double cells = std::min(std::exp2(d), kept);  // each row's mask meets those of all cells
  const double pairs = kept * kept;
  return cuda_cost(
      shape, statistics,
      {.launches = 20 + 3 * (d + 1),
       .bytes = kPasses * n * row_bytes,
       .elements = 3 * n,
       .other = {{"cell-tests", kept * cells, kCudaOperation},
                 {"mask-tests", pairs * std::pow(kMaskTested, d), kMaskTest * kCudaOperation},
                 {"dominance-tests", pairs * std::pow(kDominanceTested, d), kDominanceTest * kCudaOperation}}});
}

}  // namespace skyrank::planner::cost
