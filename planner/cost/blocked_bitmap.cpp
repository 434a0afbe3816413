#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost blocked_bitmap(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine) {
  constexpr double kSampleRows = 4096;
  constexpr double kBlockRows = 512;
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double kept = skyline_rows(shape, statistics);
  const double survivors = std::max(kept, n * surviving_share(shape, statistics));
  const double row_threads = threads_used(n, 16384, machine);
  const double threads = threads_used(survivors, 512, machine);
  // A row meets every block before it: some are closed by their corner, the others take an intersection a dimension. A
  // row that stays meets all of them; one that does not has its dominator after about a square root of them.
  const double pairs = kept * kept / 2 / kBlockRows;
  const double found = (survivors - kept) * std::sqrt(kept);
  return {{{"start", 1, 30e-6},
           {"sample-keys", std::min(n, kSampleRows) * d, 4e-9},
           {"rows", n / row_threads, 1e-9},
           {"keys", n * d / row_threads, 0.3e-9},
           {"survivors", survivors / threads, 12e-9},
           {"survivor-keys", survivors * d / threads, 2e-9},
           {"dominators", found / threads, 0.3e-9},
           {"blocks", pairs / threads, 0.4e-9},
           {"block-keys", pairs * d / threads, 0.35e-9}},
          survivors * (16 + 2 * d * static_cast<double>(shape.width))};
}

}  // namespace skyrank::planner::cost
