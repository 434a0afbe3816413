#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost cuda_sampled_threshold(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& /*machine*/) {
  const double n = static_cast<double>(shape.n);
  // Candidates are sorted; from a quarter of the rows on, all rows are.
  const double sorted = std::min(n, 4 * wanted(shape));
  return cuda_cost(shape, statistics,
                   {.launches = 5,
                    .bytes = packed_bytes(shape) * (n + 24 * sorted),
                    .elements = sorted,
                    .other = {{"select", 1, 15e-6}}});  // the threshold from the sample, and the k least
}

}  // namespace skyrank::planner::cost
