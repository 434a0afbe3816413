#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

double nth_element(const kernels::TopKShape& shape, const Machine& machine) {
  constexpr double kStart = 0.5e-6;
  constexpr double kSteps = 1.5;     // of comparing and moving a rank, in all rounds of a selection
  constexpr double kBuffer = 65536;  // rows that the k kept ones are selected again with
  const double n = static_cast<double>(shape.n);
  const double k = std::min(n, static_cast<double>(shape.k));
  const double rows = rows_of_thread(n, 32768, machine);
  const double selected = rows * (1 + k / std::max(k, kBuffer));
  const double passes = shape.ties == kernels::TieRule::all ? 2 : 1;
  const double step = rank_step(shape);
  return kStart + passes * scan_step(shape) * rows + kSteps * step * selected + order_seconds(shape, k, machine);
}

}  // namespace skyrank::planner::cost
