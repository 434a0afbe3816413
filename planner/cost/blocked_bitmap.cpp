#include "planner/cost/common.hpp"
#include "planner/cost/models.hpp"
#include "planner/estimate.hpp"

namespace skyrank::planner::cost {

double blocked_bitmap(const kernels::SkylineShape& shape, const Machine& machine) {
  constexpr double kStart = 30e-6;
  constexpr double kSampleKey = 4e-9;  // of the sample, for thresholds and the strongest rows
  constexpr double kSampleRows = 4096;
  constexpr double kKey = 2e-9;   // prefilters, levels and the copy of the row
  constexpr double kRow = 12e-9;  // its place in the batches, and the probe that finds its dominator
  constexpr double kBlockRows = 512;
  constexpr double kMaskTest = 0.4e-9;  // of one row with the corner of one block
  constexpr double kOpen = 0.2;         // blocks that their corners leave open, a fifth by measurement,
  constexpr double kProbeKey = 1.7e-9;  // cost one intersection a dimension
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double kept = expected_skyline(shape.n, shape.d);
  const double pairs = kept * kept / 2 / kBlockRows;
  const double sample = kSampleKey * std::min(n, kSampleRows) * d;
  const double each_row = n * (kKey * d + kRow);
  const double each_pair = pairs * (kMaskTest + kOpen * kProbeKey * d);
  return kStart + sample + each_row / threads_used(n, 16384, machine) +
         each_pair / std::max(1.0, static_cast<double>(machine.threads));
}

}  // namespace skyrank::planner::cost
