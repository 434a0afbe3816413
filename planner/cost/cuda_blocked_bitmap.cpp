#include <algorithm>
#include <cmath>

#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost cuda_blocked_bitmap(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& /*machine*/,
                         const Values& /*values*/) {
  constexpr double kKey = 40;          // operations for each key of all rows, to score and to prefilter them
  constexpr double kSurvivorKey = 60;  // and for each of those that the prefilter leaves, to put them in order
  constexpr double kGroup = 32;
  constexpr double kOpen = 3.4;    // a group of candidates is open to as many groups as the root of their number,
                                   // times this: by measurement, from 8 to 16 dimensions
  constexpr double kPair = 1000;   // operations for two groups that meet,
  constexpr double kPairKey = 80;  // and for each dimension
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double row_bytes = d * static_cast<double>(shape.width);
  const double kept = skyline_rows(shape, statistics);
  const double survivors = std::min(n, std::max(1.5 * kept, 0.5 * n * surviving_share(shape, statistics)));
  const double groups = survivors / kGroup;
  const double pairs = groups * std::min(groups / 2, kOpen * std::sqrt(groups));
  return cuda_cost(shape, statistics,
                   {.launches = 22,
                    .bytes = 2 * n * row_bytes + survivors * (5 * row_bytes + 160),
                    .elements = 2 * survivors + (6 * n + 80 * survivors) / row_bytes,
                    .other = {{"keys", n * d, kKey * kCudaOperation},
                              {"survivor-keys", survivors * d, kSurvivorKey * kCudaOperation},
                              {"groups", pairs, kPair * kCudaOperation},
                              {"group-keys", pairs * d, kPairKey * kCudaOperation}}});
}

}  // namespace skyrank::planner::cost
