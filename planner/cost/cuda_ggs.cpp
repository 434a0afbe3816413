#include "planner/cost/cuda_common.hpp"
#include "planner/cost/models.hpp"

namespace skyrank::planner::cost {

Cost cuda_ggs(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& /*machine*/) {
  constexpr double kTest = 5;        // operations of one comparison of two rows, most of which end early
  constexpr double kAlpha = 1024;    // rows that settle one round
  constexpr double kRound = 200e-6;  // the rows of one, one after the other, by every thread
  constexpr double kPasses = 16;     // over the keys, or as much moved, to sort and gather them
  const double n = static_cast<double>(shape.n);
  const double row_bytes = static_cast<double>(shape.d) * static_cast<double>(shape.width);
  const double kept = skyline_rows(shape, statistics);
  // A row that stays meets all before it; others mostly fall to one of the first rows.
  const double tests = kept * kept / 2 + n * kAlpha / 4;
  return cuda_cost(
      shape, statistics,
      {.launches = 20,
       .bytes = kPasses * n * row_bytes,
       .elements = 3 * n,
       .other = {{"rounds", 1 + kept / kAlpha, kRound}, {"dominance-tests", tests, kTest * kCudaOperation}}});
}

}  // namespace skyrank::planner::cost
