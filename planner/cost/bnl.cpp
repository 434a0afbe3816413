#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

// Comparisons of two rows. Those of rows that stay are quadratic, and so are those of rows that stay until a late one
// dominates them.
GuardedSteps bnl_steps(const kernels::SkylineShape& shape, const Statistics& statistics) {
  const double n = static_cast<double>(shape.n);
  const double kept = skyline_rows(shape, statistics);
  return {.expected = kept * kept + (n - kept) * std::sqrt(kept), .most = n * n / 2, .seconds = 10e-9};
}

Cost bnl(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
         const Values& /*values*/) {
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double kept = skyline_rows(shape, statistics);
  // A row that stays meets the whole window; for others its self-organised front is enough more often than not. Most
  // tests are settled by the first few keys. At the end the windows of all threads meet each other.
  const double seen = shape.general_order ? d : std::min(d, 4.0);
  const double threads = threads_used(n, 2048, machine);
  return {{{"start", 1, 1.5e-6},
           {"threads", threads - 1, 6e-6},
           {"rows", n / threads, 1e-9},
           {"keys", n * d / threads, 4e-9},
           {"tests", kept * kept * seen / threads, 1.5e-9},
           {"front-tests", (n - kept) * std::sqrt(kept) / threads, 3e-9},
           {"windows", kept * kept * seen, 1e-9},
           {"merge", kept * threads * seen, 10e-9}},
          threads * kept * d * static_cast<double>(shape.width)};
}

}  // namespace skyrank::planner::cost
