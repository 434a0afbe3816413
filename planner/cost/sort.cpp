#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost sort(const kernels::TopKShape& shape, const Statistics& statistics, const Machine& machine) {
  const double n = static_cast<double>(shape.n);
  const double threads = threads_used(n, 16384, machine);
  const double sorted = std::pow(std::abs(statistics.order), 8);  // a sort that looks for runs finds one
  return {{{"start", 1, 0.3e-6},
           {"scan", scan_weight(shape) * n / threads, 1e-9},
           {"sort", rank_weight(shape) * sort_steps(n) * (1 - 0.8 * sorted) / threads, 4e-9}},
          n * rank_bytes(shape)};
}

}  // namespace skyrank::planner::cost
