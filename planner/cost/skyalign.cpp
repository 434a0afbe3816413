#include "planner/cost/masked_skyline.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost skyalign(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
              const Values& /*values*/) {
  return masked_skyline(shape, statistics, machine, {.key = 4e-9, .dominance_tested = 0.6});
}

}  // namespace skyrank::planner::cost
