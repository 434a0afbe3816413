#include "planner/cost/common.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {

Cost bskytree(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
              const Values& /*values*/) {
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double kept = skyline_rows(shape, statistics);
  // Every level of the tree parts rows into up to 2^d; a row that stays visits a share of the tree that grows with d.
  const double depth = 1 + std::log2(std::max(2.0, kept)) / d;
  const double visited = std::pow(kept, 1 - 1 / (1 + d / 2));
  const double threads = threads_used(n, 16384, machine);
  return {{{"start", 1, 3e-6},
           {"keys", n * d, 4e-9},                           // copy of the row, range of its part
           {"parts", (n + kept * depth) / threads, 60e-9},  // of a row in each part: pivot, mask, sort
           {"visits", kept * visited / threads, 2.5e-9}},   // of one node by one row
          n * (32 + 2 * d * static_cast<double>(shape.width))};
}

}  // namespace skyrank::planner::cost
