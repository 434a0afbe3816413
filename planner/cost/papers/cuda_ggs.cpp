#include <span>
#include <vector>

#include "planner/cost/cuda_common.hpp"
#include "planner/cost/papers/models.hpp"

namespace skyrank::planner::cost {

std::span<const Values> cuda_ggs_candidates(const kernels::SkylineShape& /*shape*/) {
  static const std::vector<Values> kValues = {{{"alpha", 1024}}, {{"alpha", 256}}, {{"alpha", 4096}}};
  return kValues;
}

Cost cuda_ggs(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& /*machine*/,
              const Values& values) {
  constexpr double kTest = 5;         // operations of one comparison of two rows, most of which end early
  constexpr double kRound = 20e-6;    // launches, and a wait for the count of rows left
  constexpr double kAlone = 0.18e-6;  // one of a round's rows, after the other ones, by every thread
  constexpr double kPasses = 16;      // over the keys, or as much moved, to sort and gather them
  const double alpha = value_or(values, "alpha", 1024);  // rows that settle one round
  const double n = static_cast<double>(shape.n);
  const double row_bytes = static_cast<double>(shape.d) * static_cast<double>(shape.width);
  const double kept = skyline_rows(shape, statistics);
  // A row that stays meets all before it; others mostly fall to one of the first rows.
  const double tests = kept * kept / 2 + n * alpha / 4;
  return cuda_cost(shape, statistics,
                   {.launches = 20,
                    .bytes = kPasses * n * row_bytes,
                    .elements = 3 * n,
                    .other = {{"rounds", 1 + kept / alpha, kRound},
                              {"steps-alone", std::min(n, alpha) + kept, kAlone},
                              {"dominance-tests", tests, kTest * kCudaOperation}}});
}

}  // namespace skyrank::planner::cost
