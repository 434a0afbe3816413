#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost nth_element(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine,
                 const Values& /*values*/) {
  constexpr double kBuffer = 65536;  // rows that the k kept ones are selected again with
  const double n = static_cast<double>(shape.n);
  const double k = std::min(n, static_cast<double>(shape.k));
  const double rows = rows_of_thread(n, 32768, machine);
  const double selected = rows * (1 + k / std::max(k, kBuffer));
  Cost cost{{{"start", 1, 0.5e-6},
             {"threads", threads_used(n, 32768, machine) - 1, 9e-6},
             {"scan", passes(shape) * scan_weight(shape) * rows, 1e-9},
             {"select-steps", rank_weight(shape) * selected * disorder(statistics), 6e-9},
             {"select-runs", rank_weight(shape) * selected, 1.5e-9},
             {"scan-far", passes(shape) * scan_weight(shape) * rows * beyond(n * key_bytes(shape), kSharedCache), 1e-9},
             {"held", rank_weight(shape) * threads_used(n, 32768, machine) * std::min(k, rows), 4e-9}},
            threads_used(n, 32768, machine) * (k + kBuffer) * rank_bytes(shape)};
  add_order(cost.terms, shape, k, statistics, machine);
  return cost;
}

}  // namespace skyrank::planner::cost
