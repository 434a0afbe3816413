#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

double bitonic(const kernels::TopKShape& shape, const Machine& machine) {
  constexpr double kStart = 1.5e-6;   // a block is full, whatever n is
  constexpr double kStep = 0.045e-9;  // of the network, for one rank
  constexpr double kLeastRun = 16;
  const double n = static_cast<double>(shape.n);
  const double k = std::min(n, static_cast<double>(shape.k));
  const double levels = std::log2(std::max(k, kLeastRun));
  // Runs of k take levels (levels + 1) / 2 steps; halving and sorting again costs as much as two more rounds of levels.
  const double steps = levels * (levels + 1) / 2 + 2 * levels;
  const double passes = shape.ties == kernels::TieRule::all ? 2 : 1;
  const double rows = rows_of_thread(n, 32768, machine);
  return kStart + (passes * scan_step(shape) + kStep * steps) * rows + sort_seconds(k, rank_step(shape));
}

}  // namespace skyrank::planner::cost
