#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost bnl(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine) {
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double kept = skyline_rows(shape, statistics);
  // A row that stays meets the whole window; for others its self-organised front is enough more often than not.
  const double tests = n + kept * kept + (n - kept) * std::sqrt(kept);
  const double keys_seen = shape.general_order ? d : std::min(d, 4.0);  // most tests are settled by the first few
  const double threads = threads_used(n, 2048, machine);
  return {{{"start", 1, 0.2e-6},
           {"tests", tests / threads, 3e-9},
           {"keys-tested", tests * keys_seen / threads, 1e-9},
           {"keys", n * d / threads, 0.8e-9}},
          threads * kept * d * static_cast<double>(shape.width)};
}

}  // namespace skyrank::planner::cost
