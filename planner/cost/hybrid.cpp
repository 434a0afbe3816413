#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"
#include "planner/estimate.hpp"

namespace skyrank::planner::cost {

double hybrid(const kernels::SkylineShape& shape, const Machine& machine) {
  constexpr double kStart = 10e-6;
  constexpr double kSampleKey = 60e-9;  // of two samples, sorted dimension by dimension
  constexpr double kSampleRows = 1024;
  constexpr double kKey = 8e-9;  // ranks, prefilter, levels and the copy of the row
  constexpr double kSortStep = 6e-9;
  constexpr double kMaskTest = 0.25e-9;
  constexpr double kTestedPairs = 0.3;  // of all pairs of rows that stay, by the order of blocks and cells
  constexpr double kDominanceTest = 10e-9;
  constexpr double kOpenPairs = 0.02;  // of the tested ones
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double kept = expected_skyline(shape.n, shape.d);
  const double tested = kTestedPairs * kept * kept;
  const double sample = kSampleKey * std::min(n, kSampleRows) * d;
  const double each_row = n * kKey * d + sort_seconds(n, kSortStep);
  const double each_pair = tested * (kMaskTest + kOpenPairs * kDominanceTest);
  return kStart + sample / threads_used(d, 1, machine) + each_row / threads_used(n, 16384, machine) +
         each_pair / threads_used(kept, 64, machine);
}

}  // namespace skyrank::planner::cost
