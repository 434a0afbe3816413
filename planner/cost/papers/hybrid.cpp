#include <algorithm>

#include "planner/cost/common.hpp"
#include "planner/cost/masked_skyline.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {

Cost hybrid(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
            const Values& values) {
  Cost cost = masked_skyline(shape, statistics, machine, {.key = 8e-9, .dominance_tested = 0.65});
  const double kept = skyline_rows(shape, statistics);
  const double survivors = std::max(kept, static_cast<double>(shape.n) * surviving_share(shape, statistics));
  const double masks_a_step = 8;
  add_blocks(cost.terms, survivors, kept, masks_a_step, threads_used(kept, 64, machine), values);
  return cost;
}

}  // namespace skyrank::planner::cost
