#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"
#include "planner/estimate.hpp"

namespace skyrank::planner::cost {

double skyalign(const kernels::SkylineShape& shape, const Machine& machine) {
  constexpr double kStart = 10e-6;
  constexpr double kSampleKey = 60e-9;  // of two samples, sorted dimension by dimension
  constexpr double kSampleRows = 1024;
  constexpr double kKey = 4e-9;  // prefilter, levels and the copy of the row
  constexpr double kSortStep = 6e-9;
  constexpr double kCellTest = 0.05e-9;  // of median masks, a vector of them at a time
  constexpr double kMaskTest = 0.4e-9;
  constexpr double kMaskTested = 0.75;  // of pairs of rows that stay, for each dimension, by measurement
  constexpr double kDominanceTest = 15e-9;
  constexpr double kDominanceTested = 0.6;  // the same
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double kept = expected_skyline(shape.n, shape.d);
  const double cells = std::min(std::exp2(d), kept);
  const double sample = kSampleKey * std::min(n, kSampleRows) * d;
  const double each_row = n * kKey * d + sort_seconds(n, kSortStep);
  const double each_pair =
      kept * kept * (kMaskTest * std::pow(kMaskTested, d) + kDominanceTest * std::pow(kDominanceTested, d));
  const double each_cell_pair = cells * cells / 2 * kCellTest;
  return kStart + sample / threads_used(d, 1, machine) + each_row / threads_used(n, 16384, machine) +
         (each_pair + each_cell_pair) / threads_used(kept, 64, machine);
}

}  // namespace skyrank::planner::cost
