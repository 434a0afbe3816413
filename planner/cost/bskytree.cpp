#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"
#include "planner/estimate.hpp"

namespace skyrank::planner::cost {

double bskytree(const kernels::SkylineShape& shape, const Machine& machine) {
  constexpr double kStart = 3e-6;
  constexpr double kKey = 4e-9;      // copy of the row, range of its part
  constexpr double kPart = 60e-9;    // of a row in each part it belongs to: pivot, mask, sort
  constexpr double kVisit = 2.5e-9;  // of one node by one row
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double kept = expected_skyline(shape.n, shape.d);
  // Every level of the tree parts rows into up to 2^d; a row that stays visits a share of the tree that grows with d.
  const double depth = 1 + std::log2(std::max(2.0, kept)) / d;
  const double visited = std::pow(kept, 1 - 1 / (1 + d / 2));
  const double copies = n * kKey * d;
  const double shared = (n + kept * depth) * kPart + kept * visited * kVisit;
  return kStart + copies + shared / threads_used(n, 16384, machine);
}

}  // namespace skyrank::planner::cost
