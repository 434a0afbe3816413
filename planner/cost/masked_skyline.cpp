#include "planner/cost/masked_skyline.hpp"

#include "planner/cost/common.hpp"

namespace skyrank::planner::cost {

Cost masked_skyline(const kernels::SkylineShape& shape, const Statistics& statistics, const Machine& machine,
                    const MaskedSkyline& algorithm) {
  constexpr double kSampleRows = 1024;
  constexpr double kMaskTested = 0.75;  // of pairs of rows that stay, for each dimension, by measurement
  const double n = static_cast<double>(shape.n);
  const double d = static_cast<double>(shape.d);
  const double kept = skyline_rows(shape, statistics);
  const double survivors = std::max(kept, n * surviving_share(shape, statistics));
  const double cells = std::min(std::exp2(d), kept);
  const double row_threads = threads_used(n, 16384, machine);
  const double pair_threads = threads_used(kept, 64, machine);
  const double found = (survivors - kept) * std::sqrt(kept);
  return {{{"start", 1, 10e-6},
           {"sample-keys", std::min(n, kSampleRows) * d / threads_used(d, 1, machine), 60e-9},
           {"keys", n * d / row_threads, algorithm.key},
           {"sort", sort_steps(survivors) / threads_used(survivors, 4096, machine), 6e-9},
           {"dominators", found / pair_threads, 1e-9},
           {"cell-tests", cells * cells / 2 / pair_threads, 0.05e-9},
           {"mask-tests", kept * kept * std::pow(kMaskTested, d) / pair_threads, 0.4e-9},
           {"dominance-tests", kept * kept * std::pow(algorithm.dominance_tested, d) / pair_threads, 15e-9}},
          n * (24 + 2 * d * static_cast<double>(shape.width))};
}

}  // namespace skyrank::planner::cost
