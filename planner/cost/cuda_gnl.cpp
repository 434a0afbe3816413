#include <cmath>

#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"
#include "planner/estimate.hpp"

namespace skyrank::planner::cost {

double cuda_gnl(const kernels::SkylineShape& shape, const Machine& /*machine*/) {
  constexpr double kTest = 12;    // operations of one comparison of two rows,
  constexpr double kTestKey = 5;  // and for each key it looks at; most are settled by the first few
  constexpr double kRowsOnDevice = 132 * 2048;
  const double n = static_cast<double>(shape.n);
  const double kept = expected_skyline(shape.n, shape.d);
  // A row that stays meets half of all rows; others leave early, but with the others of their warp.
  const double tests = kept * n / 2 + (n - kept) * std::sqrt(n);
  const double operations = tests * (kTest + kTestKey * std::min<double>(static_cast<double>(shape.d), 4));
  // One row's way through its half, however few there are.
  const double alone = n / 2 * 20 * kCudaOperation * kRowsOnDevice / 32;
  return cuda_overhead(shape) + 2 * kCudaLaunch + kCudaOperation * operations + alone;
}

}  // namespace skyrank::planner::cost
