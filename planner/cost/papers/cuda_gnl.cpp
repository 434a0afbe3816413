#include <cmath>

#include "planner/cost/cuda_common.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {

Cost cuda_gnl(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& /*machine*/,
              const Values& /*values*/) {
  constexpr double kTest = 12;    // operations of one comparison of two rows,
  constexpr double kTestKey = 5;  // and for each key it looks at; most are settled by the first few
  const double n = static_cast<double>(shape.n);
  const double kept = skyline_rows(shape, statistics);
  // A row that stays meets half of all rows; others leave early, but with the others of their warp.
  const double tests = kept * n / 2 + (n - kept) * std::sqrt(n);
  const double operations = tests * (kTest + kTestKey * std::min<double>(static_cast<double>(shape.d), 4));
  // One row's way through its half, however few there are.
  const double alone = n / 2;
  return cuda_cost(
      shape, statistics,
      {.launches = 2,
       .other = {{"operations", operations, kCudaOperation}, {"steps-alone", alone, 20 * 132 * 64 * kCudaOperation}}});
}

}  // namespace skyrank::planner::cost
