#include "planner/cost/common.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {

Cost salsa(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
           const Values& values) {
  constexpr double kSampleRows = 1024;
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double kept = skyline_rows(shape, statistics);
  const double rows_a_step = 64.0 / static_cast<double>(shape.width);
  // The window grows as that of sfs. Of n independent rows the least greatest rank is about n^(-1/d): the scan takes
  // the rows with a rank below it.
  const double bound = std::pow(std::max(1.0, n), -1.0 / d);
  const double scanned = std::max(kept, n * (1 - std::pow(1 - bound, d)));
  const double tests = kept * kept / 2 + (scanned - kept) * std::sqrt(kept);
  const double steps = scanned + tests / rows_a_step;
  const double threads = threads_used(n, 16384, machine);
  Cost cost{{{"start", 1, 5e-6},
             {"sample-keys", std::min(n, kSampleRows) * d / threads_used(d, 1, machine), 30e-9},
             {"vector-tests", steps * std::min(d, 4.0) / threads, 0.5e-9},
             {"keys", n * d / threads, 5e-9},
             {"sort", sort_steps(n) / threads, 12e-9}},
            n * (24 + d * static_cast<double>(shape.width))};
  add_blocks(cost.terms, scanned, kept, rows_a_step, threads, values);
  return cost;
}

}  // namespace skyrank::planner::cost
