#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

double sort(const kernels::TopKShape& shape, const Machine& machine) {
  constexpr double kStart = 0.3e-6;
  const double n = static_cast<double>(shape.n);
  return kStart + (scan_step(shape) * n + sort_seconds(n, rank_step(shape))) / threads_used(n, 16384, machine);
}

}  // namespace skyrank::planner::cost
