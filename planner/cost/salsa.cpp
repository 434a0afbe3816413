#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"
#include "planner/estimate.hpp"

namespace skyrank::planner::cost {

double salsa(const kernels::SkylineShape& shape, const Machine& machine) {
  constexpr double kStart = 5e-6;
  constexpr double kSampleKey = 30e-9;  // of the sample, which is sorted dimension by dimension
  constexpr double kSampleRows = 1024;
  constexpr double kSortStep = 12e-9;
  constexpr double kTestKey = 0.5e-9;  // of 16 keys of 4 bytes or 8 of 8 in one vector step
  constexpr double kCopyKey = 5e-9;    // levels, and blocks of the window
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double kept = expected_skyline(shape.n, shape.d);
  const double rows_a_step = 64.0 / static_cast<double>(shape.width);
  // The window grows as that of sfs. Of n independent rows the least greatest rank is about n^(-1/d): the scan takes
  // the rows with a rank below it.
  const double bound = std::pow(std::max(1.0, n), -1.0 / d);
  const double scanned = std::max(kept, n * (1 - std::pow(1 - bound, d)));
  const double tests = kept * kept / 2 + (scanned - kept) * std::sqrt(kept);
  const double steps = scanned + tests / rows_a_step;
  const double sample = kSampleKey * std::min(n, kSampleRows) * d;
  const double seconds = steps * kTestKey * std::min(d, 4.0) + kCopyKey * n * d + sort_seconds(n, kSortStep);
  return kStart + sample / threads_used(d, 1, machine) + seconds / threads_used(n, 16384, machine);
}

}  // namespace skyrank::planner::cost
