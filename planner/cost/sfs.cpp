#include <span>
#include <vector>

#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

// Any block is right; a small one leaves threads idle at its end, a large one compares rows that the window would have
// settled.
std::span<const Values> block_candidates(const kernels::SkylineShape& /*shape*/) {
  static const std::vector<Values> kValues = {{{"block", 1024}}, {{"block", 256}}, {{"block", 4096}}};
  return kValues;
}

Cost sfs(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
         const Values& values) {
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double kept = skyline_rows(shape, statistics);
  const double rows_a_step = 64.0 / static_cast<double>(shape.width);
  // The window never loses a row: one that stays meets half of the final one, others find their dominator near its
  // front.
  const double tests = kept * kept / 2 + (n - kept) * std::sqrt(kept);
  const double steps = n + (shape.general_order ? 0 : tests / rows_a_step);
  const double threads = threads_used(n, 16384, machine);
  Cost cost{{{"start", 1, 1.5e-6},
             {"vector-tests", steps * std::min(d, 4.0) / threads, 0.5e-9},
             {"keys", n * d / threads, 2e-9},
             {"sort", sort_steps(n) / threads, 12e-9},
             {"order-tests", shape.general_order ? tests * d / threads : 0, 1.5e-9}},
            16 * n + kept * d * static_cast<double>(shape.width)};
  add_blocks(cost.terms, n, kept, rows_a_step, threads, values);
  return cost;
}

}  // namespace skyrank::planner::cost
