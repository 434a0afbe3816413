#include "planner/cost/common.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {

Cost bitonic(const kernels::TopKShape& shape, const Statistics& /*statistics*/, const Machine& machine,
             const Values& /*values*/) {
  constexpr double kMinRun = 16;
  const double n = static_cast<double>(shape.n);
  const double k = std::min(n, static_cast<double>(shape.k));
  const double levels = std::log2(std::max(k, kMinRun));
  // Runs of k take levels (levels + 1) / 2 steps; halving and sorting again costs as much as two more rounds of levels.
  const double steps = levels * (levels + 1) / 2 + 2 * levels;
  const double rows = rows_of_thread(n, 32768, machine);
  return {{{"start", 1, 1.5e-6},  // a block is full, whatever n is
           {"scan", passes(shape) * scan_weight(shape) * rows, 1e-9},
           {"network-steps", steps * rows, 0.045e-9},
           {"merge", rank_weight(shape) * sort_steps(k), 4e-9}},
          threads_used(n, 32768, machine) * 4 * k * rank_bytes(shape)};
}

}  // namespace skyrank::planner::cost
