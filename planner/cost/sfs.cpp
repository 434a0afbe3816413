#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"
#include "planner/estimate.hpp"

namespace skyrank::planner::cost {

double sfs(const kernels::SkylineShape& shape, const Machine& machine) {
  constexpr double kStart = 1.5e-6;
  constexpr double kSortStep = 12e-9;
  constexpr double kTestKey = 0.5e-9;  // of 16 keys of 4 bytes or 8 of 8 in one vector step
  constexpr double kCopyKey = 2e-9;    // scoring, and blocks of the window
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double kept = expected_skyline(shape.n, shape.d);
  const double rows_a_step = 64.0 / static_cast<double>(shape.width);
  // The window never loses a row: one that stays meets half of the final one, others find their dominator near its
  // front.
  const double tests = kept * kept / 2 + (n - kept) * std::sqrt(kept);
  const double steps = n + tests / rows_a_step;
  const double seconds = steps * kTestKey * std::min(d, 4.0) + kCopyKey * n * d + sort_seconds(n, kSortStep);
  return kStart + seconds / threads_used(n, 16384, machine);
}

}  // namespace skyrank::planner::cost
