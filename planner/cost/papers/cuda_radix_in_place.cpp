#include "planner/cost/papers/cuda_selection.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {

Cost cuda_radix_in_place(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/,
                         const Values& /*values*/) {
  // A pass for each 8 bits of an element, though most selections end before, and one to take the answer.
  const double passes = 0.75 * element_bytes(shape) + 1;
  return cuda_cost(shape, statistics,
                   {.launches = element_bytes(shape) + 3,
                    .bytes = passes * static_cast<double>(shape.n) * packed_bytes(shape) + taking_bytes(shape)});
}

}  // namespace skyrank::planner::cost
