#include "planner/cost/masked_skyline.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost hybrid(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine) {
  return masked_skyline(shape, statistics, machine, {.key = 8e-9, .dominance_tested = 0.65});
}

}  // namespace skyrank::planner::cost
